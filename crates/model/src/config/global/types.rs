//! What belongs to the process: workers, limits, the access log, and defaults for services and pools.

use crate::config::control::ControlConfig;
use crate::config::event_hook::EventHook;
use crate::config::history::HistoryRetention;
use crate::config::telemetry::{MetricsConfig, TelemetryConfig};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// What belongs to the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GlobalConfig {
    /// Worker threads; `None`: one per core this process may use.
    pub workers: Option<u16>,
    /// Client connections over all services; `None`: from the file descriptor limit.
    pub connections: Option<u32>,
    /// The access log.
    pub access_log: AccessLogConfig,
    /// The local API.
    pub control: ControlConfig,
    /// The Prometheus endpoint; off unless set.
    pub metrics: Option<MetricsConfig>,
    /// A collector of OpenTelemetry; none unless set.
    pub telemetry: Option<TelemetryConfig>,
    /// How long SIGTERM lets exchanges finish; default 30 s.
    pub drain: Duration,
    /// One exchange in so many is measured whatever it takes; `None`: none is. Default 64.
    pub sample: Option<u32>,
    /// A certificate that ends within so long is warned of; default 14 days.
    pub certificate_warning: Duration,
    /// The file of what our cookies are made with; `None`: a secret of this machine's own.
    pub sticky_secret_file: Option<PathBuf>,
    /// Programs that are started for events.
    pub hooks: Vec<EventHook>,
    /// How much history is stored; `None`: none.
    pub history: Option<HistoryRetention>,
}

/// Which exchanges are logged, how and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AccessLogConfig {
    /// Every exchange, or only the failed ones (default).
    pub all: bool,
    /// Its form.
    pub format: AccessLogFormat,
    /// Where it goes; default standard error.
    pub target: AccessLogTarget,
}

/// The form of an access log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLogFormat {
    /// One JSON object a line (default).
    Json,
    /// The common log format with times appended.
    Common,
}

/// Where access lines go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLogTarget {
    /// Nowhere.
    Off,
    /// Standard error.
    Stderr,
    /// Standard output.
    Stdout,
    /// A file, reopened on SIGUSR1.
    File(PathBuf),
}
