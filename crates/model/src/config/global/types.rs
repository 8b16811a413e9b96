//! The checked configuration of the process: workers, limits, logs and runtime interfaces.

use crate::config::access_log::{AccessLogField, SyslogServer};
use crate::config::control::ControlConfig;
use crate::config::event_hook::EventHook;
use crate::config::event_level::EventLevel;
use crate::config::history::HistoryRetention;
use crate::config::telemetry::{MetricsConfig, TelemetryConfig};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GlobalConfig {
    /// Worker threads; `None`: one per usable core.
    pub workers: Option<u16>,
    /// Limit for client connections over all services; `None`: from the file descriptor limit.
    pub connections: Option<u32>,
    pub access_log: AccessLogConfig,
    pub control: ControlConfig,
    /// The Prometheus endpoint; `None`: off.
    pub metrics: Option<MetricsConfig>,
    /// The OpenTelemetry collector; `None`: none.
    pub telemetry: Option<TelemetryConfig>,
    /// How long exchanges may finish after SIGTERM; default 30 s.
    pub drain: Duration,
    /// One exchange in this many is measured, whatever its duration; `None`: none. Default 64.
    pub sample: Option<u32>,
    /// A warning is logged when a certificate will expire within this time; default 14 days.
    pub certificate_warning: Duration,
    /// The file with the secret of affinity cookies; `None`: a secret that this machine generates.
    pub sticky_secret_file: Option<PathBuf>,
    /// Events below this level are not written to standard error; default all are.
    pub event_level: EventLevel,
    pub hooks: Vec<EventHook>,
    /// Retention of stored history; `None`: no history.
    pub history: Option<HistoryRetention>,
}

/// Which exchanges are logged, in which format and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AccessLogConfig {
    /// Whether all exchanges are logged, or only failed ones (default).
    pub all: bool,
    /// The share of exchanges that are logged though they neither failed nor were slow, parts per million; `None`: none.
    pub sample: Option<u32>,
    pub format: AccessLogFormat,
    /// What a line has, in this order; empty: what it has by default.
    pub fields: Vec<AccessLogField>,
    /// Default standard error.
    pub target: AccessLogTarget,
}

/// The format of an access log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLogFormat {
    /// One JSON object per line (default).
    Json,
    /// `name=value`, as Go's programs and Heroku log.
    Logfmt,
    /// The common log format with times appended.
    Common,
    /// The combined log format of Apache httpd and nginx.
    Combined,
    /// The Common Event Format of log collectors.
    Cef,
}

/// The destination of the access log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLogTarget {
    Off,
    Stderr,
    Stdout,
    /// A file, reopened on SIGUSR1.
    File(PathBuf),
    Syslog(SyslogServer),
}
