//! The name server in the types of the API: status, sums and explanations. Pure.

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use api::types::{
    NameCandidate, NameExplained, NameListener, NameQuery, NameStatus, NamesReport, NamesStatus,
};
use names::counts::{DnsTransport, Fate};
use names::domain::DomainName;
use names::explain::explain as explain_book;

use crate::planes::name_server::shared::NameServerState;

/// Record types that have a name here; others are given by number.
const TYPES: [(&str, u16); 10] = [
    ("A", 1),
    ("AAAA", 28),
    ("SRV", 33),
    ("HTTPS", 65),
    ("SOA", 6),
    ("NS", 2),
    ("TXT", 16),
    ("CNAME", 5),
    ("MX", 15),
    ("ANY", 255),
];

/// Listeners and zones with their state; `None`: no names are served.
pub fn status(shared: &NameServerState) -> Option<NamesStatus> {
    let book = shared.zone_data()?;
    let sockets = shared.sockets();
    let listen =
        sockets.into_iter().map(|(address, state)| NameListener { address, problem: state.err() });
    let zones = book.plan.zones.iter().map(|zone| zone.domain.to_string());
    let names = book.plan.names.iter().zip(&book.states).map(|(name, state)| NameStatus {
        name: name.config.name.clone(),
        zone: name.config.zone.clone(),
        policy: name.config.policy.name().to_owned(),
        ttl_seconds: name.ttl,
        up: state.up_candidates() as u64,
        candidates: state.candidates.len() as u64,
        fallback: state.uses_fallback,
        responses: name.counters.answers.load(Ordering::Relaxed),
        first_choices: name
            .counters
            .first_choices
            .iter()
            .map(|given| (given.candidate.clone(), given.count.load(Ordering::Relaxed)))
            .collect(),
    });
    Some(NamesStatus { listen: listen.collect(), zones: zones.collect(), names: names.collect() })
}

/// Queries by result, for each transport; empty if names were never served.
pub fn report(shared: &NameServerState) -> Vec<NamesReport> {
    if shared.zone_data().is_none() {
        return Vec::new();
    }
    let one = |transport: DnsTransport| {
        let counts = &shared.counts;
        // Fates first: each of them was received before.
        let fates = Fate::ALL.iter().map(|fate| (*fate, counts.by_fate(transport, *fate)));
        let fates: Vec<(Fate, u64)> = fates.collect();
        let sum: u64 = fates.iter().map(|(_, count)| count).sum();
        let received = counts.received(transport);
        let there = fates.iter().filter(|(_, count)| *count > 0);
        NamesReport {
            transport: transport.name().to_owned(),
            received,
            outcomes: there.map(|(fate, count)| (fate.name().to_owned(), *count)).collect(),
            unaccounted: received.saturating_sub(sum),
        }
    };
    DnsTransport::ALL.map(one).to_vec()
}

/// Which answer a client gets, and why.
///
/// # Errors
/// The error is a sentence with the reason why the query cannot be explained.
pub fn explain(shared: &NameServerState, query: &NameQuery) -> Result<NameExplained, String> {
    let book = shared.zone_data().ok_or("names are not served: `[names]` has no `listen`")?;
    let name =
        DomainName::parse(&query.name).ok_or_else(|| format!("'{}' is no name", query.name))?;
    let wanted = query.kind.as_deref().unwrap_or("A").to_ascii_uppercase();
    let number = || wanted.strip_prefix("TYPE").unwrap_or(&wanted).parse::<u16>().ok();
    let kind = TYPES.iter().find(|(name, _)| *name == wanted).map(|(_, kind)| *kind);
    let kind = kind.or_else(number).ok_or_else(|| {
        let known: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
        format!("'{wanted}' is no record type; expected one of {} or a number", known.join(", "))
    })?;
    let from: IpAddr = query.from.to_canonical();
    let told = explain_book(&book, &name, kind, from);
    let candidates = told.candidates.into_iter().map(|row| NameCandidate {
        name: row.name,
        addresses: row.addresses,
        weight: row.weight,
        up: row.up,
        reason: row.reason,
        share_percent: row.share * 100.0,
    });
    Ok(NameExplained {
        name: name.to_string(),
        kind: wanted,
        from,
        zone: told.zone,
        target: told.name,
        scope_bits: told.scope,
        steps: told.steps,
        candidates: candidates.collect(),
    })
}
