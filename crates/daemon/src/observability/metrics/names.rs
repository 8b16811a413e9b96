//! What is counted of names. Nothing where none is served.

use std::fmt::Error;
use std::sync::atomic::Ordering;

use names::counts::{DnsTransport, Fate};
use prometheus_client::encoding::DescriptorEncoder;

use super::family::{counter, counters, gauge, gauges};
use crate::planes::name_server::shared::NameServerState;

pub(super) fn encode(shared: &NameServerState, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let Some(book) = shared.zone_data() else { return Ok(()) };
    let received =
        DnsTransport::ALL.map(|by| ([("transport", by.name())], shared.counts.received(by)));
    let help = "DNS queries received.";
    counters(to, "steelyard_dns_queries", None, help, received)?;
    let fates = DnsTransport::ALL.into_iter().flat_map(|by| {
        Fate::ALL.iter().map(move |fate| {
            ([("transport", by.name()), ("outcome", fate.name())], shared.counts.by_fate(by, *fate))
        })
    });
    let help = "DNS queries by outcome; each has one.";
    counters(to, "steelyard_dns_query_outcomes", None, help, fates)?;
    let crowded = shared.counts.evicted_networks.load(Ordering::Relaxed);
    let help = "Rate-limited client networks that were evicted from the table while still above their limit.";
    counter(to, "steelyard_dns_rate_limit_evictions", None, help, crowded)?;
    let tcp = shared.tcp.totals().map(|(result, count)| ([("result", result)], count));
    let help = "DNS connections over TCP by result.";
    counters(to, "steelyard_dns_connections", None, help, tcp)?;
    let open = shared.tcp.open.load(Ordering::Relaxed) as f64;
    let help = "Open DNS connections over TCP.";
    gauge(to, "steelyard_dns_connections_open", None, help, open)?;
    let sockets = shared
        .sockets()
        .into_iter()
        .map(|(at, state)| ([("address", at.to_string())], if state.is_ok() { 1.0 } else { 0.0 }));
    let help = "1 if DNS queries are answered at the address, 0 if the address could not be bound.";
    gauges(to, "steelyard_dns_listening", None, help, sockets)?;
    let names = || book.plan.names.iter().zip(&book.states);
    let up = names()
        .map(|(name, state)| ([("name", name.config.name.as_str())], state.up_candidates() as f64));
    let help = "Addresses that a name may be answered with now.";
    gauges(to, "steelyard_dns_name_candidates_up", None, help, up)?;
    let answers = names().map(|(name, _)| {
        ([("name", name.config.name.as_str())], name.counters.answers.load(Ordering::Relaxed))
    });
    let help = "DNS responses with addresses of a name.";
    counters(to, "steelyard_dns_name_responses", None, help, answers)?;
    let given = names().flat_map(|(name, _)| {
        name.counters.first_choices.iter().map(|given| {
            let labels =
                [("name", name.config.name.as_str()), ("candidate", given.candidate.as_str())];
            (labels, given.count.load(Ordering::Relaxed))
        })
    });
    let help = "DNS responses with the candidate in first place.";
    counters(to, "steelyard_dns_name_first_choices", None, help, given)
}
