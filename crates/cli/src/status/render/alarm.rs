//! Standing alarms, a line each, the gravest first. Pure.

use api::types::{AlarmSeverity, StandingAlarm, Status};

use crate::show::error_cell::severity_colour;
use crate::show::paint::{Colour, Paint};
use crate::show::plain::plain;
use crate::show::unit::span;

/// Lines of alarms above the tables; the tables have the rest.
const LINES: usize = 20;

/// Alarms that stand. Notices are left out: the tables show them.
pub(super) fn alarms(status: &Status, paint: Paint) -> String {
    let mut out = String::new();
    let grave = status.alarms.iter().filter(|alarm| alarm.severity != AlarmSeverity::Notice);
    for alarm in grave.clone().take(LINES) {
        let StandingAlarm { severity, subject, reason, since_unix_ms, .. } = alarm;
        let age = since_unix_ms.map(|since| span(status.now_unix_ms.saturating_sub(since)));
        out.push_str(&format!(
            "{} {}{}: {}\n",
            paint.text(severity_colour(*severity), &format!("{}:", severity.name())),
            plain(subject),
            age.map(|age| format!(" for {age}")).unwrap_or_default(),
            plain(reason).replace('\n', " "),
        ));
    }
    let more = grave.count().saturating_sub(LINES) as u64 + status.more_alarms;
    if more > 0 {
        out.push_str(&format!("{} {more} more alarms\n", paint.text(Colour::Bad, "and")));
    }
    out
}

/// Keeps the alarms of services and pools with these names, and of the servers of those pools.
pub(super) fn select(status: &mut Status) {
    let services: Vec<String> = status.services.iter().map(|one| one.name.clone()).collect();
    let pools: Vec<String> = status.pools.iter().map(|one| one.name.clone()).collect();
    let is_of = |alarm: &StandingAlarm| match alarm.subject.split_once(' ') {
        Some(("service", name)) => services.iter().any(|service| service == name),
        Some(("pool", name)) => pools.iter().any(|pool| pool == name),
        Some(("server", name)) => {
            pools.iter().any(|pool| name.split('/').next() == Some(pool.as_str()))
        }
        _ => false,
    };
    status.alarms.retain(is_of);
}
