//! Builds the process settings of the checked configuration.

use std::path::PathBuf;

use super::types::{AccessLogConfig, AccessLogFormat, AccessLogTarget, GlobalConfig};
use crate::config::access_log::{AccessLogField, SyslogServer};
use crate::config::control::ControlConfig;
use crate::config::inner_table::read_inner_table;
use crate::config::section::ConfigSection;
use crate::config::telemetry::MetricsConfig;
use crate::config::{access_log, control, event_hook, event_level, history, telemetry};

pub fn build_global(section: &ConfigSection) -> GlobalConfig {
    let path =
        |section: &ConfigSection, key: &str| PathBuf::from(section.text(key).unwrap_or_default());
    let metrics = section.table("metrics").and_then(|metrics| metrics.sockets("listen").first());
    GlobalConfig {
        workers: section.count("workers"),
        connections: section.count("connections"),
        access_log: read_inner_table(section, "access-log", |log| AccessLogConfig {
            all: log.flag("all"),
            sample: log.count("sample"),
            format: match log.text("format") {
                Some("logfmt") => AccessLogFormat::Logfmt,
                Some("common") => AccessLogFormat::Common,
                Some("combined") => AccessLogFormat::Combined,
                Some("cef") => AccessLogFormat::Cef,
                _ => AccessLogFormat::Json,
            },
            fields: log
                .texts("fields")
                .iter()
                .filter_map(|name| AccessLogField::parse(name))
                .collect(),
            target: match log.text("target") {
                Some("off") => AccessLogTarget::Off,
                Some("stdout") => AccessLogTarget::Stdout,
                Some("stderr") | None => AccessLogTarget::Stderr,
                Some(other) => match SyslogServer::parse(other) {
                    Some(server) => {
                        let tls = read_inner_table(log, "tls", access_log::build_syslog_tls);
                        AccessLogTarget::Syslog(SyslogServer { tls, ..server })
                    }
                    None => AccessLogTarget::File(PathBuf::from(other)),
                },
            },
        }),
        control: read_inner_table(section, "control", |control| ControlConfig {
            socket: control.text("socket").map(PathBuf::from),
            mode: control.count_or_zero("mode"),
            state: path(control, "state"),
            write_back: control::build_write_back(control),
            allow_programs: control.flag("allow-programs"),
            audit: control.count_or_zero("audit"),
            generations: control.count_or_zero("generations"),
            remote: control::build_remote_api(control),
        }),
        metrics: metrics.map(|listen| MetricsConfig { listen: *listen }),
        telemetry: section.table("telemetry").and_then(telemetry::build_telemetry),
        drain: section.time_or_zero("drain"),
        sample: section.count("sample"),
        sticky_secret_file: section.text("sticky-secret-file").map(PathBuf::from),
        certificate_warning: section.time_or_zero("certificate-warning"),
        event_level: event_level::build_level(section, "event-level"),
        hooks: section.list("hook").iter().map(event_hook::build_hook).collect(),
        history: section.table("history").map(history::build_history_retention),
    }
}
