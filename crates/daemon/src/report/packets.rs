//! The packet plane's view → what `status` and `report` say of it. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

use api::types::{
    Neighbour, PacketEnd, PacketInsight, PacketInterface, PacketOutcome, PacketServer,
    PacketService, PacketsReport, PacketsStatus, ServiceState,
};
use l4::abi::Outcome;
use l4::counts::{Counts, Outcomes, Packets, add};
use model::snapshot::Snapshot;

use super::counts::rate;
use crate::control::Picture;
use crate::packets::view::{ServerFlows, ServiceFlows, View};

/// What `status` says; `None` where no service forwards packets.
pub fn status(view: &View, picture: &Picture) -> Option<PacketsStatus> {
    if !view.wanted {
        return None;
    }
    let mut names: BTreeMap<IpAddr, Vec<String>> = BTreeMap::new();
    for pool in picture.snapshot.pools.values() {
        for server in &pool.servers {
            if let Some(at) = server.address {
                let name = format!("{}/{}", pool.config.name, server.config.name);
                names.entry(at.ip()).or_default().push(name);
            }
        }
    }
    let neighbour = |(address, (state, reason)): (&IpAddr, &(String, Option<String>))| Neighbour {
        address: *address,
        state: state.clone(),
        reason: reason.clone(),
        servers: names.get(address).cloned().unwrap_or_default(),
    };
    let drawn = view.insight.drawn;
    Some(PacketsStatus {
        broken: view.broken.clone(),
        generation: view.generation,
        adopted: view.adopted,
        memory_bytes: view.memory,
        insight: PacketInsight {
            sample: view.insight.sample,
            watched: view.insight.watched,
            begun: drawn.begun,
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
                problem: one.problem.clone(),
            })
            .collect(),
        neighbours: view.hops.iter().map(neighbour).collect(),
    })
}

/// Why a service is not forwarded, if it is not.
pub fn obstacle(view: &View, service: &str) -> Option<(ServiceState, String)> {
    let why = match view.obstacles.get(service) {
        Some(why) => why.clone(),
        None if view.broken.is_some() => view.broken.clone()?,
        None if !view.wanted || !view.services.contains_key(service) => {
            "the packet plane is being set up".to_owned()
        }
        None => return None,
    };
    Some((ServiceState::Down, why))
}

/// What `report` says; `None` where nothing was counted yet.
pub fn report(view: &View, snapshot: &Snapshot) -> Option<PacketsReport> {
    let (now, before) = (view.now.as_ref()?, view.before.as_ref()?);
    let seconds = now.at.saturating_duration_since(before.at).as_secs_f64();
    let (new, old) = (&now.counts, &before.counts);
    let accounted = new.accounted();
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let services = snapshot.services.values().filter_map(|service| {
        let name = &service.config.name;
        let flows = view.flows.get(name)?;
        let index = *view.services.get(name)?;
        Some(self::service(name, service.config.forward.name(), index, flows, (new, old), seconds))
    });
    let mut services: Vec<PacketService> = services.collect();
    services.sort_by(|a, b| a.name.cmp(&b.name));
    Some(PacketsReport {
        received: rate(old.received, new.received, seconds),
        accounted: rate(old.accounted(), accounted, seconds),
        unaccounted: signed(new.received) - signed(accounted),
        outcomes: outcomes(&new.total(), &old.total(), seconds),
        earlier: new.gone_before,
        evicted: rate(old.evicted, new.evicted, seconds),
        events_lost: rate(old.events_lost, new.events_lost, seconds),
        services,
    })
}

fn service(
    name: &str,
    forward: &str,
    index: u32,
    flows: &ServiceFlows,
    (new, old): (&Counts, &Counts),
    seconds: f64,
) -> PacketService {
    let none = l4::counts::ServerCounts::default();
    let server = |flows: &ServerFlows| {
        let of = |counts: &'_ Counts| counts.servers.get(&flows.index).unwrap_or(&none).clone();
        let (new, old) = (of(new), of(old));
        PacketServer {
            name: format!("{}/{}", flows.pool, flows.name),
            flows: flows.flows,
            connections: rate(old.flows, new.flows, seconds),
            adopted: rate(old.adopted, new.adopted, seconds),
            bytes_in: rate(old.bytes_in, new.bytes_in, seconds),
            bytes_out: rate(old.bytes_out, new.bytes_out, seconds),
            outcomes: outcomes(&new.outcomes, &old.outcomes, seconds),
        }
    };
    let all = |counts: &Counts| of_service(counts, index, flows);
    PacketService {
        name: name.to_owned(),
        forward: forward.to_owned(),
        flows: flows.flows,
        half_open: flows.half_open,
        alarm: flows.alarm,
        outcomes: outcomes(&all(new), &all(old), seconds),
        servers: flows.servers.iter().map(server).collect(),
    }
}

/// Where a service's packets ended, those of servers that are leaving included.
pub fn of_service(counts: &Counts, index: u32, flows: &ServiceFlows) -> Outcomes {
    let mut sum = counts.services.get(&index).cloned().unwrap_or_default();
    let servers = flows.indexes.iter().filter_map(|server| counts.servers.get(server));
    servers.for_each(|one| add(&mut sum, &one.outcomes));
    sum
}

/// What an outcome is to its packet: the first word of its meaning says so.
pub fn end(outcome: Outcome) -> PacketEnd {
    match outcome.text().split([' ', ':']).next() {
        Some("Dropped") => PacketEnd::Dropped,
        Some("Handed") => PacketEnd::Host,
        Some("Answered") => PacketEnd::Answered,
        _ => PacketEnd::Forwarded,
    }
}

fn outcomes(new: &Outcomes, old: &Outcomes, seconds: f64) -> Vec<PacketOutcome> {
    let one = |(outcome, packets): (&Outcome, &Packets)| {
        let before = old.get(outcome).map_or(0, Packets::sum);
        PacketOutcome {
            name: outcome.name().to_owned(),
            end: end(*outcome),
            meaning: outcome.text().to_owned(),
            count: rate(before, packets.sum(), seconds),
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
        let ends: Vec<(Outcome, PacketEnd)> =
            Outcome::ALL.into_iter().map(|outcome| (outcome, end(outcome))).collect();
        let of = |wanted: PacketEnd| -> Vec<&str> {
            ends.iter().filter(|(_, end)| *end == wanted).map(|(one, _)| one.name()).collect()
        };
        let forwarded =
            ["forwarded", "returned", "error-forwarded", "error-returned", "fragmented"];
        assert_eq!(of(PacketEnd::Forwarded), forwarded, "or its meaning begins with another word");
        assert!(of(PacketEnd::Host).contains(&"not-ours"));
        assert!(of(PacketEnd::Host).contains(&"collocated"));
        assert!(of(PacketEnd::Answered).contains(&"too-big"));
        assert!(of(PacketEnd::Dropped).contains(&"rule-dropped"));
    }

    fn packets(v4: u64, v6: u64) -> Packets {
        Packets { v4, v6, other: 0 }
    }

    fn counts(forwarded: u64, dropped: u64, received: u64) -> Counts {
        let mut counts = Counts { received, ..Counts::default() };
        let mut server = l4::counts::ServerCounts { flows: 3, ..Default::default() };
        server.outcomes.insert(Outcome::Forwarded, packets(forwarded, 2));
        counts.servers.insert(5, server.clone());
        // A server that is leaving.
        counts.servers.insert(6, server);
        counts.services.insert(1, Outcomes::from([(Outcome::NoServer, packets(dropped, 0))]));
        counts.plane.insert(Outcome::NotOurs, packets(7, 0));
        counts
    }

    #[test]
    fn the_sum_of_outcomes_is_what_was_received_and_servers_that_leave_count() {
        let flows = ServiceFlows { indexes: [5, 6].into(), ..ServiceFlows::default() };
        let sum = of_service(&counts(10, 4, 35), 1, &flows);
        assert_eq!(sum[&Outcome::Forwarded], packets(20, 4));
        assert_eq!(sum[&Outcome::NoServer], packets(4, 0));
        let mut counts = counts(10, 4, 35);
        assert_eq!((counts.accounted(), counts.received), (35, 35));
        counts.gone.insert(Outcome::Forwarded, packets(5, 0));
        counts.gone_before = 2;
        assert_eq!(counts.accounted(), 42);
        assert_eq!(counts.total()[&Outcome::Forwarded], packets(25, 4));
    }
}
