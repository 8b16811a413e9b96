//! What a failed change is called towards those who ordered it. It mends nothing.

use crate::control::reconcile::apply::ReconcileError;
use crate::state::change::ApplyError;

impl From<ReconcileError> for ApplyError {
    fn from(error: ReconcileError) -> ApplyError {
        match error {
            ReconcileError::Listen(error) => ApplyError::Listen(error),
            ReconcileError::Pool { pool, source } => ApplyError::Pool { pool, source },
        }
    }
}
