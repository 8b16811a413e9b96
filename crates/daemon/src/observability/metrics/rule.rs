//! Counters of rules and of sticky clients. Bounded: a service with thousands of rules shows the first of them, and the
//! sum of the others under the name `others`.

use std::fmt::Error;

use model::affinity::AffinityCounts;
use model::rules::{RuleStats, ServiceRules};
use model::snapshot::ServiceView;
use model::stats::{Count, RuleCounters};
use prometheus_client::encoding::DescriptorEncoder;

use super::family::{CounterFamily, counters, gauges};

/// The limit of a service's rules that have separate rows.
pub(super) const ROWS: usize = 200;

type RuleCounterFn = fn(&RuleCounters) -> &Count;
type AffinityCounterFn = fn(&AffinityCounts) -> u64;

type RuleCounterFamily = CounterFamily<RuleCounterFn>;

pub(super) const FAMILIES: &[RuleCounterFamily] = &[
    RuleCounterFamily::new("hits", "Requests or connections that matched a rule.", |c| &c.hits),
    RuleCounterFamily::new("limited", "Matches that the rule's rate limit refused.", |c| {
        &c.limited
    }),
    RuleCounterFamily::new(
        "passed_over",
        "Matches that were skipped because no server of the rule's pool was available.",
        |c| &c.passed_over,
    ),
    RuleCounterFamily::new("mirrored", "Mirrored requests sent.", |c| &c.mirrored),
    RuleCounterFamily::new("mirror_dropped", "Mirrored requests that were dropped.", |c| {
        &c.mirror_dropped
    }),
    RuleCounterFamily::new("response_bytes", "Bytes of responses to a rule's matches.", |c| {
        &c.bytes
    }),
];

pub(super) fn encode(services: &[&ServiceView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    for CounterFamily { name, help, counter } in FAMILIES {
        let rows = services.iter().flat_map(|view| {
            let ruling = view.rules.iter().flat_map(move |ruling| rules_of(ruling, *counter));
            ruling.map(move |(rule, value)| {
                ([("service", view.config.name.as_str()), ("rule", rule)], value)
            })
        });
        counters(to, &format!("steelyard_rule_{name}"), None, help, rows)?;
    }
    let last = |live: &RuleStats| live.last_unix_ms().map(|at| at as f64 / 1000.0);
    let rows = services.iter().flat_map(|view| {
        let each = view.rules.iter().flat_map(|ruling| named_rules(ruling).take(ROWS));
        each.filter_map(move |(rule, live)| {
            Some(([("service", view.config.name.as_str()), ("rule", rule)], last(live)?))
        })
    });
    let help = "Time of a rule's last match, seconds since 1970.";
    gauges(to, "steelyard_rule_last_match_time", None, help, rows)?;
    affinity(services, to)
}

fn named_rules(ruling: &ServiceRules) -> impl Iterator<Item = (&str, &RuleStats)> {
    let names = ruling.table.rules().iter().map(|rule| rule.name.as_str());
    names.zip(ruling.stats.iter().map(AsRef::as_ref))
}

fn rules_of(ruling: &ServiceRules, field: RuleCounterFn) -> impl Iterator<Item = (&str, u64)> {
    let others: u64 = named_rules(ruling).skip(ROWS).map(|(_, live)| live.sum(field)).sum();
    let more = (ruling.stats.len() > ROWS).then_some(("others", others));
    named_rules(ruling).take(ROWS).map(move |(name, live)| (name, live.sum(field))).chain(more)
}

fn affinity(services: &[&ServiceView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let counts: Vec<(&str, AffinityCounts)> = services
        .iter()
        .filter_map(|view| Some((view.config.name.as_str(), view.affinity.as_ref()?.counts())))
        .collect();
    let rows = counts.iter().map(|(name, counts)| ([("service", *name)], counts.entries as f64));
    let help = "Clients in the sticky session table.";
    gauges(to, "steelyard_affinity_entries", None, help, rows)?;
    let each: [(&str, &str, AffinityCounterFn); 3] = [
        ("hits", "Lookups that found the client's server.", |counts| counts.hits),
        ("assignments", "Clients that were assigned to a server.", |counts| counts.assigned),
        ("evicted", "Clients that were evicted early because the table was full.", |counts| {
            counts.evicted
        }),
    ];
    for (name, help, field) in each {
        let rows = counts.iter().map(|(service, counts)| ([("service", *service)], field(counts)));
        counters(to, &format!("steelyard_affinity_{name}"), None, help, rows)?;
    }
    Ok(())
}
