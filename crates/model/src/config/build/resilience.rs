//! How a pool stands by its requests when servers fail, from its settings to its checked form.

use super::super::resilience::{Eject, Retry, Statuses};
use super::super::section::Section;
use super::super::value::Value;

/// The terms of further attempts.
pub fn retry(section: &Section) -> Retry {
    Retry {
        budget: section.count("budget"),
        at_least: section.number("at-least"),
        window: section.span("window"),
        back_off: section.span("back-off"),
        back_off_most: section.span("back-off-most"),
        on: statuses(section),
    }
}

/// When servers are put out.
pub fn eject(section: &Section) -> Eject {
    Eject {
        failures: section.number("failures"),
        rate: section.number("rate"),
        cut_rate: section.number("cut-rate"),
        volume: section.number("volume"),
        interval: section.span("interval"),
        time: section.span("time"),
        most: section.span("most"),
        share: section.number("share"),
        on: statuses(section),
    }
}

fn statuses(section: &Section) -> Statuses {
    match section.value("on") {
        Some(Value::Status(ranges)) => Statuses(ranges.to_vec()),
        _ => Statuses::default(),
    }
}
