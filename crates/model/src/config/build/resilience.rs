//! How a pool stands by its requests when servers fail, from its settings to its checked form.

use std::time::Duration;

use super::super::resilience::{
    BreakerLimits, Eject, Hedge, HedgeAfter, Precedence, Retry, ShedTerms, Statuses,
};
use super::super::section::Section;
use super::super::value::Value;
use crate::retry::Wishes;

/// The terms of further attempts.
pub fn retry(section: &Section) -> Retry {
    Retry {
        budget: section.count("budget"),
        at_least: section.number("at-least"),
        window: section.span("window"),
        back_off: section.span("back-off"),
        back_off_most: section.span("back-off-most"),
        on: statuses(section),
        wishes: Wishes {
            on_timeout: section.flag("on-timeout"),
            on_malformed: section.flag("on-malformed"),
        },
    }
}

/// How long all attempts of a request may take together.
pub fn attempts(pool: &Section, timeout: &Section) -> Duration {
    let first_byte = timeout.span("first-byte");
    let more = match pool.table("retry") {
        Some(retry) if retry.flag("on-timeout") => first_byte,
        _ => timeout.span("connect"),
    };
    timeout.time("attempts").unwrap_or(first_byte + more)
}

/// What may be under way at a time.
pub fn breaker(section: &Section) -> BreakerLimits {
    BreakerLimits {
        connections: section.count("connections"),
        pending: section.count("pending"),
        requests: section.count("requests"),
        retries: section.count("retries"),
    }
}

/// When what waits is shed.
pub fn shed(section: &Section) -> ShedTerms {
    ShedTerms { target: section.span("target"), interval: section.span("interval") }
}

/// When a second server is asked.
pub fn hedge(section: &Section) -> Hedge {
    let percentile = section.count("percentile").unwrap_or(95);
    let after = section.time("after").map_or(HedgeAfter::Percentile(percentile), HedgeAfter::Time);
    Hedge { after, at_least: section.span("at-least") }
}

/// The class of a service's requests.
pub fn precedence(section: &Section) -> Precedence {
    let header = section.text("header").map(str::to_ascii_lowercase);
    Precedence { class: section.number("class"), header }
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
