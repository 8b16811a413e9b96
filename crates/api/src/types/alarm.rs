//! Standing alarms: what is wrong now, each with whose it is, how grave it is and why.
//!
//! `status`, `top` and the overview of the page show the same list. An alarm that is over is not in it.

use serde::{Deserialize, Serialize};

/// Severity of an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlarmSeverity {
    /// Shown in red: users notice.
    Error,
    /// Shown in amber: something to look at.
    Warning,
    /// By an operator's command: nothing is wrong.
    Notice,
}

impl AlarmSeverity {
    /// As written for people.
    pub const fn name(self) -> &'static str {
        match self {
            AlarmSeverity::Error => "error",
            AlarmSeverity::Warning => "warning",
            AlarmSeverity::Notice => "notice",
        }
    }
}

/// Something that is wrong now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StandingAlarm {
    /// Its kind: `errors`, `state`, `slo-burn`, `slow`, `flapping`, `circuit-breaker`, `shedding`, `limit`, `file`,
    /// `hook`, `telemetry`, `link`, `uplink`, `heartbeat`, `packets`.
    pub name: String,
    /// Severity of the alarm.
    pub severity: AlarmSeverity,
    /// The object: `service shop`, `server web/a`, `pool web`.
    pub subject: String,
    /// What is wrong, one sentence.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub reason: String,
    /// Time since which it is raised; absent: unknown.
    pub since_unix_ms: Option<u64>,
}
