//! What the routes act on. It holds no state of its own.

use std::sync::Arc;
use std::time::Duration;

use crate::history::Annals;
use crate::report::vitals::Vitals;

/// Called when the process is asked to leave, with how long exchanges may finish.
pub type Stop = Box<dyn Fn(Option<Duration>) + Send + Sync>;

/// What the routes act on.
pub struct Context {
    /// The daemon and its own facts.
    pub vitals: Arc<Vitals>,
    /// What was.
    pub annals: Arc<Annals>,
    /// Asks the process to leave.
    pub stop: Stop,
}
