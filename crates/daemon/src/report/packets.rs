//! The packet plane's view → what `status` and `report` say of it. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

use api::types::{
    Neighbour, PacketInterface, PacketOutcome, PacketServer, PacketService, PacketsReport,
    PacketsStatus, ServiceState,
};
use l4::counts::{Counts, Outcomes, Packets, add};
use model::snapshot::Snapshot;

use super::counts::rate;
use crate::control::Picture;
use crate::packets::view::{ServiceFlows, View};

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
    Some(PacketsStatus {
        broken: view.broken.clone(),
        adopted: view.adopted,
        memory_bytes: view.memory,
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
    let all = |counts: &Counts| {
        let mut sum = counts.services.get(&index).cloned().unwrap_or_default();
        for (_, _, server, _) in &flows.servers {
            if let Some(one) = counts.servers.get(server) {
                add(&mut sum, &one.outcomes);
            }
        }
        sum
    };
    let server = |(pool, name, at, under_way): &(String, String, u32, u32)| {
        let none = l4::counts::ServerCounts::default();
        let (new, old) =
            (new.servers.get(at).unwrap_or(&none), old.servers.get(at).unwrap_or(&none));
        PacketServer {
            name: format!("{pool}/{name}"),
            flows: *under_way,
            connections: rate(old.flows, new.flows, seconds),
            adopted: rate(old.adopted, new.adopted, seconds),
            bytes_in: rate(old.bytes_in, new.bytes_in, seconds),
            bytes_out: rate(old.bytes_out, new.bytes_out, seconds),
            outcomes: outcomes(&new.outcomes, &old.outcomes, seconds),
        }
    };
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

fn outcomes(new: &Outcomes, old: &Outcomes, seconds: f64) -> Vec<PacketOutcome> {
    let one = |(outcome, packets): (&l4::abi::Outcome, &Packets)| {
        let before = old.get(outcome).map_or(0, Packets::sum);
        PacketOutcome {
            name: outcome.name().to_owned(),
            count: rate(before, packets.sum(), seconds),
            v4: packets.v4,
            v6: packets.v6,
            other: packets.other,
        }
    };
    new.iter().map(one).collect()
}
