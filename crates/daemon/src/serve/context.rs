//! What the routes act on. It holds no state of its own.

use std::sync::Arc;
use std::time::Duration;

use super::lessor::Lessor;
use super::live::Live;
use super::once::Once;
use crate::history::Annals;
use crate::report::vitals::Vitals;
use crate::vrrp::order::Orders;

/// How the process is asked to leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// How long exchanges may finish; `None`: as configured.
    pub limit: Option<Duration>,
    /// Packets go on being forwarded.
    pub detach: bool,
}

/// Called when the process is asked to leave.
pub type Stop = Box<dyn Fn(Asked) + Send + Sync>;

/// What the routes act on.
pub struct Context {
    /// The daemon and its own facts.
    pub vitals: Arc<Vitals>,
    /// State and rates for those who watch.
    pub live: Arc<Live>,
    /// What was.
    pub annals: Arc<Annals>,
    /// Takes shared addresses over.
    pub vrrp: Orders,
    /// What this daemon gives as the witness of others.
    pub lessor: Lessor,
    /// Requests with keys that were carried out.
    pub once: Arc<Once>,
    /// Asks the process to leave.
    pub stop: Stop,
}
