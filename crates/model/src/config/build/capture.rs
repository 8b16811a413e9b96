//! Builds captures that rules make.

use super::super::capture::Capture;
use super::super::section::Section;
use crate::limit::Limit;

pub(super) fn capture(section: &Section) -> Capture {
    let limit = |code: &&str| Limit::ALL.iter().find(|limit| limit.code() == *code).copied();
    Capture {
        name: section.name.clone(),
        service: section.text("service").map(str::to_owned),
        latency: section.time("latency"),
        cause: section.words("cause").iter().filter_map(limit).collect(),
        from: section.prefixes("from").to_vec(),
        errors: section.count("errors"),
        payload: section.number("payload"),
        size: section.number("size"),
        time: section.span("time"),
        pause: section.span("pause"),
        keep: section.number("keep"),
    }
}
