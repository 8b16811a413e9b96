//! What follows for a heartbeat from the groups of shared addresses.

use std::time::Duration;

use super::super::section::{Origin, Section};
use super::super::value::Value;

/// Without groups.
const EVERY: Duration = Duration::from_secs(1);

/// Fills in what a heartbeat does not say itself: where both are as quick, a machine that is gone is found out about as
/// soon as by VRRP alone.
pub(super) fn settle(mut heartbeat: Section, groups: &[Section]) -> Section {
    if heartbeat.setting("every").is_none() {
        let shortest = groups.iter().filter_map(|group| group.time("advertise")).min();
        let (time, why) = match shortest {
            Some(time) => (time.min(Duration::from_secs(10)), "the shortest `advertise`"),
            None => (EVERY, "there is no group"),
        };
        heartbeat.set("every", Value::Time(time), Origin::Derived(why));
    }
    if heartbeat.setting("timeout").is_none() {
        let time = heartbeat.span("every") * 3;
        heartbeat.set("timeout", Value::Time(time), Origin::Derived("three times `every`"));
    }
    heartbeat
}
