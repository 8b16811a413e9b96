//! What a failed change is called towards those who ordered it. It mends nothing.

use crate::control::order::ApplyError;
use crate::reconcile::act::ActError;

impl From<ActError> for ApplyError {
    fn from(error: ActError) -> ApplyError {
        match error {
            ActError::Listen(error) => ApplyError::Listen(error),
            ActError::Pool { pool, source } => ApplyError::Pool { pool, source },
        }
    }
}
