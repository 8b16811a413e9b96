//! The packet plane's view in the types of the API. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

use api::types::{
    FloodClient, FlowSampleStatus, HeaderRemoval, Neighbour, PacketDisposition, PacketInterface,
    PacketOutcome, PacketServer, PacketService, PacketsReport, PacketsStatus,
};
use l4::abi::{Outcome, TcpField};
use l4::counts::{PacketCounts, PacketOutcomes, PlaneCounters, RemovalCounts, add_outcomes};
use model::snapshot::WorkerSnapshot;

use super::counts::total_and_rate;
use crate::planes::packets::half_open_clients::FloodSource;
use crate::planes::packets::view::{NextHopView, PacketPlaneView, ServerFlows, ServiceFlows};
use crate::state::StateSnapshot;

/// The packet plane's part of `status`; `None` if no service forwards packets.
pub fn status(view: &PacketPlaneView, snapshot: &StateSnapshot) -> Option<PacketsStatus> {
    if !view.is_wanted {
        return None;
    }
    let mut names: BTreeMap<IpAddr, Vec<String>> = BTreeMap::new();
    for pool in snapshot.snapshot.pools.values() {
        for server in &pool.servers {
            if let Some(at) = server.socket_address() {
                let name = format!("{}/{}", pool.config.name, server.config.name);
                names.entry(at.ip()).or_default().push(name);
            }
        }
    }
    let neighbour = |(address, hop): (&IpAddr, &NextHopView)| Neighbour {
        address: *address,
        state: hop.state.clone(),
        reason: hop.reason.clone(),
        servers: names.get(address).cloned().unwrap_or_default(),
    };
    let drawn = view.flow_samples.outcomes;
    Some(PacketsStatus {
        problem: view.last_error.clone(),
        generation: view.generation,
        restored: view.is_adopted,
        memory_bytes: view.memory,
        flow_samples: FlowSampleStatus {
            one_in: view.flow_samples.sample,
            watched: view.flow_samples.watched,
            started: drawn.started,
            full: drawn.full,
            evicted: drawn.evicted,
            unread: drawn.unread,
        },
        interfaces: view
            .interfaces
            .iter()
            .map(|one| PacketInterface {
                name: one.name.clone(),
                mode: one.mode.map(str::to_owned),
                problem: one.last_error.clone(),
            })
            .collect(),
        neighbours: view.hops.iter().map(neighbour).collect(),
    })
}

/// Why a service is not forwarded, if it is not.
pub fn forwarding_obstacle(view: &PacketPlaneView, service: &str) -> Option<String> {
    match view.obstacles.get(service) {
        Some(why) => Some(why.clone()),
        None if view.last_error.is_some() => view.last_error.clone(),
        None if !view.is_wanted || !view.services.contains_key(service) => {
            Some("the packet plane is being set up".to_owned())
        }
        None => None,
    }
}

/// The packet plane's part of `report`; `None` if nothing was counted yet.
pub fn packets_report(view: &PacketPlaneView, snapshot: &WorkerSnapshot) -> Option<PacketsReport> {
    let now = view.current.as_ref()?;
    let before = view.previous.as_ref()?;
    let seconds = now.at.saturating_duration_since(before.at).as_secs_f64();
    let new = &now.counts;
    let old = &before.counts;
    let accounted = new.accounted();
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let services = snapshot.services.values().filter_map(|service| {
        let name = &service.config.name;
        let flows = view.flows.get(name)?;
        let index = *view.services.get(name)?;
        Some(self::service(name, service.config.forward.name(), index, flows, new, old, seconds))
    });
    let mut services: Vec<PacketService> = services.collect();
    services.sort_by(|a, b| a.name.cmp(&b.name));
    Some(PacketsReport {
        received: total_and_rate(old.received, new.received, seconds),
        accounted: total_and_rate(old.accounted(), accounted, seconds),
        unaccounted: signed(new.received) - signed(accounted),
        outcomes: outcomes(&new.total(), &old.total(), seconds),
        earlier: new.removed_before,
        evicted: total_and_rate(old.evicted, new.evicted, seconds),
        events_lost: total_and_rate(old.events_lost, new.events_lost, seconds),
        services,
    })
}

fn service(
    name: &str,
    forward: &str,
    index: u32,
    flows: &ServiceFlows,
    new: &PlaneCounters,
    old: &PlaneCounters,
    seconds: f64,
) -> PacketService {
    let none = l4::counts::ServerCounts::default();
    let server = |flows: &ServerFlows| {
        let of =
            |counts: &'_ PlaneCounters| counts.servers.get(&flows.index).unwrap_or(&none).clone();
        let new = of(new);
        let old = of(old);
        PacketServer {
            name: format!("{}/{}", flows.pool, flows.name),
            flows: flows.flows,
            connections: total_and_rate(old.flows, new.flows, seconds),
            without_syn: total_and_rate(old.adopted, new.adopted, seconds),
            bytes_in: total_and_rate(old.bytes_in, new.bytes_in, seconds),
            bytes_out: total_and_rate(old.bytes_out, new.bytes_out, seconds),
            outcomes: outcomes(&new.outcomes, &old.outcomes, seconds),
        }
    };
    let all = |counts: &PlaneCounters| service_outcomes(counts, index, flows);
    PacketService {
        name: name.to_owned(),
        forward: forward.to_owned(),
        flows: flows.flows,
        half_open: flows.half_open,
        alarm: flows.alarm,
        sampled_syns: flows.flood_sources.sampled,
        flood_clients: flood_clients(&flows.flood_sources.addresses),
        flood_networks: flood_clients(&flows.flood_sources.networks),
        outcomes: outcomes(&all(new), &all(old), seconds),
        removals: removals(new.cleared.get(&index), old.cleared.get(&index), seconds),
        servers: flows.servers.iter().map(server).collect(),
    }
}

fn removals(
    new: Option<&RemovalCounts>,
    old: Option<&RemovalCounts>,
    seconds: f64,
) -> Vec<HeaderRemoval> {
    let one = |(field, count): (&TcpField, &u64)| {
        let before = old.and_then(|old| old.get(field)).copied().unwrap_or(0);
        let count = total_and_rate(before, *count, seconds);
        HeaderRemoval { field: field.name().to_owned(), count }
    };
    new.into_iter().flatten().map(one).collect()
}

fn flood_clients(sources: &[FloodSource]) -> Vec<FloodClient> {
    let client = |one: &FloodSource| FloodClient { address: one.source.clone(), syns: one.count };
    sources.iter().map(client).collect()
}

/// Packets of a service by outcome, including those of draining servers.
pub fn service_outcomes(
    counts: &PlaneCounters,
    index: u32,
    flows: &ServiceFlows,
) -> PacketOutcomes {
    let mut sum = counts.services.get(&index).cloned().unwrap_or_default();
    let servers = flows.indexes.iter().filter_map(|server| counts.servers.get(server));
    servers.for_each(|one| add_outcomes(&mut sum, &one.outcomes));
    sum
}

/// How an outcome ends its packet, from the first word of its description.
pub fn packet_end(outcome: Outcome) -> PacketDisposition {
    match outcome.text().split([' ', ':']).next() {
        Some("Dropped") => PacketDisposition::Dropped,
        Some("Handed") => PacketDisposition::Host,
        Some("Answered") => PacketDisposition::Answered,
        _ => PacketDisposition::Forwarded,
    }
}

fn outcomes(new: &PacketOutcomes, old: &PacketOutcomes, seconds: f64) -> Vec<PacketOutcome> {
    let one = |(outcome, packets): (&Outcome, &PacketCounts)| {
        let before = old.get(outcome).map_or(0, PacketCounts::sum);
        PacketOutcome {
            name: outcome.name().to_owned(),
            disposition: packet_end(*outcome),
            meaning: outcome.text().to_owned(),
            count: total_and_rate(before, packets.sum(), seconds),
            v4: packets.v4,
            v6: packets.v6,
            other: packets.other,
        }
    };
    new.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_meaning_begins_with_what_became_of_the_packet() {
        let ends: Vec<(Outcome, PacketDisposition)> =
            Outcome::ALL.into_iter().map(|outcome| (outcome, packet_end(outcome))).collect();
        let of = |wanted: PacketDisposition| -> Vec<&str> {
            ends.iter().filter(|(_, end)| *end == wanted).map(|(one, _)| one.name()).collect()
        };
        let forwarded =
            ["forwarded", "returned", "error-forwarded", "error-returned", "fragmented"];
        assert_eq!(
            of(PacketDisposition::Forwarded),
            forwarded,
            "or its meaning begins with another word"
        );
        assert!(of(PacketDisposition::Host).contains(&"not-ours"));
        assert!(of(PacketDisposition::Host).contains(&"collocated"));
        assert!(of(PacketDisposition::Answered).contains(&"too-big"));
        assert!(of(PacketDisposition::Dropped).contains(&"rule-dropped"));
    }

    #[test]
    fn the_page_lists_each_outcome_with_what_became_of_the_packet() {
        let page = include_str!("../../../../../docs/packets.md");
        let section = page.split("## Packet outcomes").nth(1).unwrap();
        let rows =
            section.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with("| `"));
        let listed: Vec<Vec<&str>> =
            rows.map(|row| row.split('|').map(str::trim).skip(1).take(2).collect()).collect();
        let expected = Outcome::ALL.map(|outcome| {
            let disposition = match packet_end(outcome) {
                PacketDisposition::Forwarded => "sent",
                PacketDisposition::Host => "host",
                PacketDisposition::Answered => "answered",
                PacketDisposition::Dropped => "dropped",
            };
            [format!("`{}`", outcome.name()), disposition.to_owned()]
        });
        assert_eq!(listed, expected);
    }

    fn packets(v4: u64, v6: u64) -> PacketCounts {
        PacketCounts { v4, v6, other: 0 }
    }

    fn counts(forwarded: u64, dropped: u64, received: u64) -> PlaneCounters {
        let mut counts = PlaneCounters { received, ..PlaneCounters::default() };
        let mut server = l4::counts::ServerCounts { flows: 3, ..Default::default() };
        server.outcomes.insert(Outcome::Forwarded, packets(forwarded, 2));
        counts.servers.insert(5, server.clone());
        // A server that is leaving.
        counts.servers.insert(6, server);
        counts.services.insert(1, PacketOutcomes::from([(Outcome::NoServer, packets(dropped, 0))]));
        counts.plane.insert(Outcome::NotOurs, packets(7, 0));
        counts
    }

    // Rows: I39
    #[test]
    fn the_sum_of_outcomes_is_what_was_received_and_servers_that_leave_count() {
        let flows = ServiceFlows { indexes: [5, 6].into(), ..ServiceFlows::default() };
        let sum = service_outcomes(&counts(10, 4, 35), 1, &flows);
        assert_eq!(sum[&Outcome::Forwarded], packets(20, 4));
        assert_eq!(sum[&Outcome::NoServer], packets(4, 0));
        let mut counts = counts(10, 4, 35);
        assert_eq!((counts.accounted(), counts.received), (35, 35));
        counts.removed_servers.insert(Outcome::Forwarded, packets(5, 0));
        counts.removed_before = 2;
        assert_eq!(counts.accounted(), 42);
        assert_eq!(counts.total()[&Outcome::Forwarded], packets(25, 4));
    }
}
