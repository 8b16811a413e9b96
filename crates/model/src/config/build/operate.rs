//! Builds what belongs to operating: the API over TCP, hooks, history, schedules, and where servers are found.

use std::path::PathBuf;

use super::super::checked::Admin;
use super::super::operate::{
    Discovery, HistoryKeep, Hook, Place, Records, Remote, Scheduled, WriteBack,
};
use super::super::section::Section;
use super::super::sight::Telemetry;
use super::super::tables::operate::DAYS;
use super::super::value::Value;

/// All days.
const EVERY_DAY: u8 = 0b111_1111;

pub(super) fn write_back(control: &Section) -> WriteBack {
    match control.text("write-back") {
        Some("file") => WriteBack::File,
        Some("overlay") => WriteBack::Overlay,
        _ => WriteBack::Off,
    }
}

/// `None`: the API is not served over TCP.
pub(super) fn remote(control: &Section) -> Option<Remote> {
    let path = |key| control.text(key).map(PathBuf::from);
    Some(Remote {
        listen: *control.sockets("listen").first()?,
        tokens: path("tokens"),
        certificate: path("certificate"),
        client_authorities: path("client-authorities"),
        hosts: control.texts("hosts").to_vec(),
    })
}

pub(super) fn hook(section: &Section) -> Hook {
    Hook {
        name: section.text("name").unwrap_or_default().to_owned(),
        run: PathBuf::from(section.text("run").unwrap_or_default()),
        on: section.words("on").to_vec(),
        timeout: section.span("timeout"),
        at_once: section.number("at-once"),
        queue: section.number("queue"),
    }
}

pub(super) fn history(section: &Section) -> HistoryKeep {
    HistoryKeep {
        size: section.number("size"),
        keep: section.span("keep"),
        step: section.span("step"),
    }
}

/// `None`: the rule is wrong, and was reported.
pub(super) fn scheduled(section: &Section) -> Option<Scheduled> {
    let hours = |key| match section.value(key) {
        Some(Value::Hours(hours)) => Some(*hours),
        _ => None,
    };
    let disable = hours("disable").map(|hours| (Admin::Disabled, hours));
    let (what, hours) = disable.or_else(|| hours("drain").map(|hours| (Admin::Drain, hours)))?;
    Some(Scheduled { what, hours, days: days(section), sticky: section.time("sticky") })
}

/// Days of the week as bits, Monday the lowest; none written: all.
pub(super) fn days(section: &Section) -> u8 {
    let bit = |day: &&str| DAYS.iter().position(|word| word.name == *day).unwrap_or(0);
    let days = section.words("days").iter().fold(0, |days, day| days | 1 << bit(day));
    if days == 0 { EVERY_DAY } else { days }
}

pub(super) fn discovery(section: &Section) -> Discovery {
    let place = match section.text("file") {
        Some(file) => Place::File(PathBuf::from(file)),
        None => Place::Dns {
            name: section.text("dns").unwrap_or_default().to_ascii_lowercase(),
            records: match section.text("type") {
                Some("aaaa") => Records::Aaaa,
                Some("srv") => Records::Srv,
                _ => Records::A,
            },
            port: section.number("port"),
            resolver: section.sockets("resolver").first().copied(),
        },
    };
    Discovery { place, min: section.number("min"), max: section.number("max") }
}

/// A collector, if it says where.
pub(super) fn telemetry(section: &Section) -> Option<Telemetry> {
    Some(Telemetry {
        collector: *section.sockets("collector").first()?,
        traces: section.flag("traces"),
        logs: section.flag("logs"),
        name: section.text("name").unwrap_or_default().to_owned(),
    })
}
