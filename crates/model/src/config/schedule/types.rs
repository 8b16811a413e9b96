//! The checked configuration of scheduled drains and disables of a server.

use crate::config::admin_state::AdminState;
use crate::config::daily_window::DailyWindow;
use serde::Serialize;
use std::time::Duration;

/// A scheduled state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ScheduleRule {
    /// The state: `Drain` or `Disabled`.
    pub what: AdminState,
    /// Daily time window, local time.
    pub hours: DailyWindow,
    /// Days on which the window starts: bit 0 is Monday.
    pub days: u8,
    /// `Drain`: how long clients with affinity may still use the server; `None`: `sticky.drain` of their service.
    pub sticky: Option<Duration>,
}
