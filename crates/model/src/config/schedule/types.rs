//! The checked configuration of what the clock does to a server.

use crate::config::admin_state::AdminState;
use crate::config::daily_window::DailyWindow;
use serde::Serialize;
use std::time::Duration;

/// Something that the clock wants of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ScheduleRule {
    /// What: `Drain` or `Disabled`.
    pub what: AdminState,
    /// At which part of the day, local time.
    pub hours: DailyWindow,
    /// On which days it begins: bit 0 is Monday.
    pub days: u8,
    /// `Drain`: how long clients that are kept at it still come; `None`: as their service's `sticky.drain` says.
    pub sticky: Option<Duration>,
}
