//! Builds what belongs to operating: the API over TCP, hooks, history, schedules, and where servers are found.

use std::path::PathBuf;

use super::super::objects::AdminState;
use super::super::operations::{
    DiscoveryConfig, DiscoverySource, DnsRecordType, EventHook, HistoryRetention, RemoteApiConfig,
    ScheduleRule, WriteBack,
};
use super::super::section::ConfigSection;
use super::super::tables::operations::DAYS;
use super::super::telemetry::TelemetryConfig;
use super::super::value::ConfigValue;

const EVERY_DAY: u8 = 0b111_1111;

pub(super) fn build_write_back(control: &ConfigSection) -> WriteBack {
    match control.text("write-back") {
        Some("file") => WriteBack::File,
        Some("overlay") => WriteBack::Overlay,
        _ => WriteBack::Off,
    }
}

/// `None`: the API is not served over TCP.
pub(super) fn build_remote_api(control: &ConfigSection) -> Option<RemoteApiConfig> {
    let path = |key| control.text(key).map(PathBuf::from);
    Some(RemoteApiConfig {
        listen: *control.sockets("listen").first()?,
        tokens: path("tokens"),
        certificate: path("certificate"),
        client_authorities: path("client-authorities"),
        hosts: control.texts("hosts").to_vec(),
    })
}

pub(super) fn build_hook(section: &ConfigSection) -> EventHook {
    EventHook {
        name: section.text("name").unwrap_or_default().to_owned(),
        run: PathBuf::from(section.text("run").unwrap_or_default()),
        on: section.keywords("on").to_vec(),
        timeout: section.time_or_zero("timeout"),
        at_once: section.count_or_zero("at-once"),
        queue: section.count_or_zero("queue"),
    }
}

pub(super) fn build_history_retention(section: &ConfigSection) -> HistoryRetention {
    HistoryRetention {
        size: section.count_or_zero("size"),
        keep: section.time_or_zero("keep"),
        step: section.time_or_zero("step"),
    }
}

/// `None`: the rule is wrong, and was reported.
pub(super) fn build_schedule_rule(section: &ConfigSection) -> Option<ScheduleRule> {
    let hours = |key| match section.value(key) {
        Some(ConfigValue::DailyWindow(hours)) => Some(*hours),
        _ => None,
    };
    let disable = hours("disable").map(|hours| (AdminState::Disabled, hours));
    let (what, hours) =
        disable.or_else(|| hours("drain").map(|hours| (AdminState::Drain, hours)))?;
    Some(ScheduleRule { what, hours, days: build_days(section), sticky: section.time("sticky") })
}

/// Days of the week as bits, Monday the lowest; none written: all.
pub(super) fn build_days(section: &ConfigSection) -> u8 {
    let bit = |day: &&str| DAYS.iter().position(|word| word.name == *day).unwrap_or(0);
    let days = section.keywords("days").iter().fold(0, |days, day| days | 1 << bit(day));
    if days == 0 { EVERY_DAY } else { days }
}

pub(super) fn build_discovery(section: &ConfigSection) -> DiscoveryConfig {
    let place = match section.text("file") {
        Some(file) => DiscoverySource::File(PathBuf::from(file)),
        None => DiscoverySource::Dns {
            name: section.text("dns").unwrap_or_default().to_ascii_lowercase(),
            records: match section.text("type") {
                Some("aaaa") => DnsRecordType::Aaaa,
                Some("srv") => DnsRecordType::Srv,
                _ => DnsRecordType::A,
            },
            port: section.count_or_zero("port"),
            resolver: section.sockets("resolver").first().copied(),
        },
    };
    DiscoveryConfig { place, min: section.count_or_zero("min"), max: section.count_or_zero("max") }
}

/// A collector, if it says where.
pub(super) fn build_telemetry(section: &ConfigSection) -> Option<TelemetryConfig> {
    Some(TelemetryConfig {
        collector: *section.sockets("collector").first()?,
        traces: section.flag("traces"),
        logs: section.flag("logs"),
        name: section.text("name").unwrap_or_default().to_owned(),
    })
}
