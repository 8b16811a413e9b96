//! Live counters of rules and of what services remember → what `report` shows. It changes nothing.

use api::types::{AffinityReport, RuleReport};
use model::rules::describe;
use model::snapshot::ServiceView;

/// The rules of a service, in their order.
pub fn rule_reports(view: &ServiceView) -> Vec<RuleReport> {
    let Some(ruling) = &view.rules else { return Vec::new() };
    let each = view.config.rules.iter().zip(ruling.table.rules()).zip(&ruling.stats);
    each.enumerate()
        .map(|(at, ((rule, compiled), live))| RuleReport {
            position: at as u64 + 1,
            name: compiled.name.clone(),
            when: describe::describe_condition(&rule.when),
            action: describe::describe_action(rule),
            hits: live.sum(|c| &c.hits),
            last_unix_ms: live.last_unix_ms(),
            in_flight: live.in_flight.get(),
            rate_limited: live.sum(|c| &c.limited),
            skipped: live.sum(|c| &c.passed_over),
            mirrored: live.sum(|c| &c.mirrored),
            mirror_dropped: live.sum(|c| &c.mirror_dropped),
            bytes: live.sum(|c| &c.bytes),
            rate_limit_entries: live.limiter.as_ref().map_or(0, |limiter| limiter.client_count()),
            rate_limit_evictions: live.limiter.as_ref().map_or(0, |limiter| limiter.evicted()),
        })
        .collect()
}

/// The affinity table of a service.
pub fn affinity_report(view: &ServiceView) -> Option<AffinityReport> {
    let counts = view.affinity.as_ref()?.counts();
    Some(AffinityReport {
        entries: counts.entries,
        max_entries: counts.capacity,
        hits: counts.hits,
        assignments: counts.assigned,
        evicted: counts.evicted,
    })
}
