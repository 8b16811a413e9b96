//! Reads the datapath's counters and sums them over CPUs. Every packet has exactly one outcome; whether the sum equals
//! the received packets is reported, not assumed.

use std::collections::{BTreeMap, BTreeSet};

use bpf::{CpuValues, MapError};

use crate::abi::{self, Outcome, TcpField};
use crate::datapath::PacketDatapath;

/// Packets of both families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    pub v4: u64,
    pub v6: u64,
    pub other: u64,
}

impl PacketCounts {
    pub fn sum(&self) -> u64 {
        self.v4 + self.v6 + self.other
    }
}

/// Packets by outcome; outcomes that never happened are left out.
pub type PacketOutcomes = BTreeMap<Outcome, PacketCounts>;

/// Removed parts of TCP headers; those that never were are left out.
pub type RemovalCounts = BTreeMap<TcpField, u64>;

/// Counters of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    pub outcomes: PacketOutcomes,
    /// Bytes towards the server.
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Connections that chose it.
    pub flows: u64,
    /// Of these, flows that began without a SYN.
    pub adopted: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaneCounters {
    pub received: u64,
    /// Packets that belong to no service.
    pub plane: PacketOutcomes,
    /// Packets of a service that reached no server, by index of service.
    pub services: BTreeMap<u32, PacketOutcomes>,
    /// Parts of TCP headers that were removed, by index of service and `abi::TcpField`.
    pub cleared: BTreeMap<u32, RemovalCounts>,
    /// Packets of a server, by index of server.
    pub servers: BTreeMap<u32, ServerCounts>,
    /// Notices that were lost.
    pub events_lost: u64,
    /// Live connections evicted for new ones.
    pub evicted: u64,
    /// Packets of removed services and servers. The caller adds the last counters of each removed one.
    pub removed_servers: PacketOutcomes,
    /// Packets of services and servers removed before this process started; their outcomes are unknown.
    pub removed_before: u64,
}

impl PlaneCounters {
    /// Packets that ended somewhere.
    pub fn accounted(&self) -> u64 {
        let sum = |outcomes: &PacketOutcomes| outcomes.values().map(PacketCounts::sum).sum::<u64>();
        let services: u64 = self.services.values().map(sum).sum();
        let servers: u64 = self.servers.values().map(|one| sum(&one.outcomes)).sum();
        sum(&self.plane) + services + servers + sum(&self.removed_servers) + self.removed_before
    }

    /// All packets by outcome.
    pub fn total(&self) -> PacketOutcomes {
        let mut total = self.plane.clone();
        add_outcomes(&mut total, &self.removed_servers);
        add_outcomes(&mut total, &self.service_packets());
        total
    }

    /// Packets of services and servers alone.
    pub fn service_packets(&self) -> PacketOutcomes {
        let mut sum = PacketOutcomes::new();
        let servers = self.servers.values().map(|one| &one.outcomes);
        self.services.values().chain(servers).for_each(|outcomes| add_outcomes(&mut sum, outcomes));
        sum
    }
}

/// Adds outcomes to others.
pub fn add_outcomes(total: &mut PacketOutcomes, more: &PacketOutcomes) {
    for (outcome, packets) in more {
        let sum = total.entry(*outcome).or_default();
        sum.v4 += packets.v4;
        sum.v6 += packets.v6;
        sum.other += packets.other;
    }
}

/// Reads the counters of these services and servers, and of the plane.
///
/// # Errors
/// A map cannot be read.
pub fn read_counters(
    plane: &PacketDatapath,
    services: &[u32],
    servers: &[u32],
) -> Result<PlaneCounters, MapError> {
    let mut counts = PlaneCounters::default();
    // Received packets are read last, so that the outcomes never exceed them.
    for CpuValues { index: at, values: rows } in
        plane.server_counts.each_cpu_entries(&sorted_indexes(servers))?
    {
        let mut one = ServerCounts::default();
        for row in &rows {
            add_entries(&mut one.outcomes, 0, &row.packets4, &row.packets6, &[]);
            one.bytes_in += row.bytes_in;
            one.bytes_out += row.bytes_out;
            one.flows += row.flows;
            one.adopted += row.adopted;
        }
        counts.servers.insert(at, one);
    }
    for CpuValues { index: at, values: rows } in
        plane.service_counts.each_cpu_entries(&sorted_indexes(services))?
    {
        let mut outcomes = PacketOutcomes::new();
        let mut cleared = RemovalCounts::new();
        for row in &rows {
            add_entries(&mut outcomes, abi::SERVER_OUTCOMES, &row.packets4, &row.packets6, &[]);
            for field in TcpField::ALL {
                *cleared.entry(field).or_default() += row.cleared[field as usize];
            }
        }
        cleared.retain(|_, count| *count > 0);
        counts.services.insert(at, outcomes);
        counts.cleared.insert(at, cleared);
    }
    let first = abi::SERVER_OUTCOMES + abi::SERVICE_OUTCOMES;
    for row in plane.plane_counts.each_cpu(&0)? {
        add_entries(&mut counts.plane, first, &row.packets4, &row.packets6, &row.others);
        counts.received += row.received;
        counts.events_lost += row.events_lost;
        counts.evicted += row.evicted;
    }
    Ok(counts)
}

/// Each index once, in order, as neighbours are read together.
fn sorted_indexes(indexes: &[u32]) -> Vec<u32> {
    indexes.iter().copied().collect::<BTreeSet<u32>>().into_iter().collect()
}

fn add_entries(outcomes: &mut PacketOutcomes, first: u32, v4: &[u64], v6: &[u64], others: &[u64]) {
    for (outcome, at) in (first..).zip(0..v4.len()) {
        let other = others.get(at).copied().unwrap_or(0);
        let v4 = v4[at];
        let v6 = v6.get(at).copied().unwrap_or(0);
        let Some(outcome) = Outcome::of(outcome).filter(|_| v4 + v6 + other > 0) else { continue };
        let sum = outcomes.entry(outcome).or_default();
        sum.v4 += v4;
        sum.v6 += v6;
        sum.other += other;
    }
}
