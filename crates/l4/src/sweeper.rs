//! Scans the connection tables once. Counts the connections of each server and service, half-open ones included, and
//! the connections of each limited client. It frees no entry, because the datapath reuses expired ones when it needs
//! room.

use std::collections::{BTreeSet, HashMap};

use bpf::{MapError, MapValue, MappedArray};

use crate::abi::{self, State};
use crate::client_connections::ClientConnections;
use crate::connection_counts::ConnectionCounts;
use crate::datapath::PacketDatapath;

/// The tables, laid into memory.
#[derive(Debug)]
pub struct TableSweeper {
    flows: MappedArray,
    flow_owners: MappedArray,
    records: MappedArray,
    record_owners: MappedArray,
    sticky: MappedArray,
    client_connections: MappedArray,
    /// How many servers fit.
    servers: usize,
    /// How many shares fit.
    shares: usize,
}

/// Words of a bucket: as many hashes as words.
const BUCKET: usize = 2 * abi::WAYS_IN_BUCKET as usize;
/// Words of a record.
const RECORD: usize = abi::Record::SIZE / 8;

impl TableSweeper {
    /// Lays the tables of a plane into memory.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(plane: &PacketDatapath) -> std::io::Result<TableSweeper> {
        let buckets = |table: &bpf::TypedMap<u32, abi::Bucket>| {
            MappedArray::new(table, table.capacity() as usize * abi::Bucket::SIZE)
        };
        let owners = |table: &bpf::TypedMap<u32, abi::Owners>| {
            MappedArray::new(table, table.capacity() as usize * abi::Owners::SIZE)
        };
        let records = plane.records.capacity() as usize * abi::Record::SIZE;
        Ok(TableSweeper {
            flows: buckets(&plane.flows)?,
            flow_owners: owners(&plane.flow_owners)?,
            records: MappedArray::new(&plane.records, records)?,
            record_owners: owners(&plane.record_owners)?,
            sticky: buckets(&plane.sticky)?,
            client_connections: buckets(&plane.per_client)?,
            servers: plane.servers.capacity() as usize,
            shares: plane.shares.capacity() as usize,
        })
    }

    /// Counts the connections at this tick, and writes the number of connections of each client.
    pub fn count_connections(&self, tick: u32) -> ConnectionCounts {
        let mut tally = ServerTally(vec![[0; 4]; self.servers]);
        let mut shares = vec![0; self.shares];
        let mut clients = ClientConnections::from_table(&self.client_connections);
        for bucket in (0..self.flows.word_count()).step_by(BUCKET) {
            for at in bucket..bucket + BUCKET / 2 {
                let fingerprint = self.flows.load(at);
                if fingerprint > 1
                    && tally.count_flow(self.flows.load(at + BUCKET / 2), tick)
                    && !clients.is_empty()
                {
                    let note = owner_note(&self.flow_owners, bucket / 2 + at - bucket);
                    if note >> 20 == (fingerprint >> 40 & 0xfff) as u32 {
                        clients.count_connection(note);
                    }
                }
            }
        }
        for at in (0..self.records.word_count()).step_by(RECORD) {
            let word = self.records.load(at);
            if word & 0xff <= State::Claimed as u64 {
                continue;
            }
            // The share and the server are in the sixth and seventh words.
            let server = (self.records.load(at + 6) & 0xffff_ffff) as u32;
            if !tally.count_record(word, server, tick) {
                continue;
            }
            if let Some(used) = shares.get_mut((self.records.load(at + 5) >> 32) as usize) {
                *used += 1;
            }
            if word >> 16 & u64::from(abi::RECORD_OWNED) != 0 {
                clients.count_connection(owner_note(&self.record_owners, at / RECORD));
            }
        }
        clients.write_counts(&self.client_connections, tick);
        let shares = (0..).zip(shares).filter(|(_, used)| *used > 0).collect();
        ConnectionCounts { shares, ..tally.to_counts(tick) }
    }

    /// Unexpired sticky clients of each of these servers.
    pub fn count_sticky_clients(&self, servers: &BTreeSet<u32>, tick: u32) -> HashMap<u32, u32> {
        let mut clients: HashMap<u32, u32> = servers.iter().map(|server| (*server, 0)).collect();
        if clients.is_empty() {
            return clients;
        }
        for bucket in (0..self.sticky.word_count()).step_by(BUCKET) {
            for at in bucket..bucket + BUCKET / 2 {
                let word = self.sticky.load(at + BUCKET / 2);
                if self.sticky.load(at) > 1
                    && remaining_ticks(word, tick) > 0
                    && let Some(count) = clients.get_mut(&((word & 0xfff_ffff) as u32))
                {
                    *count += 1;
                }
            }
        }
        clients
    }

    /// Removes sticky clients of these servers, whose indexes will be reused.
    pub fn forget_sticky_clients(&self, servers: &[u32]) {
        if servers.is_empty() {
            return;
        }
        for bucket in (0..self.sticky.word_count()).step_by(BUCKET) {
            for at in bucket..bucket + BUCKET / 2 {
                let fingerprint = self.sticky.load(at);
                let word = self.sticky.load(at + BUCKET / 2);
                if fingerprint > 1 && servers.contains(&((word & 0xfff_ffff) as u32)) {
                    // An entry that changed meanwhile belongs to another client, and stays.
                    let _ = self.sticky.compare_exchange(at, fingerprint, 0);
                }
            }
        }
    }
}

/// Ticks until the deadline of an entry's word, times 256. Zero or less means expired.
fn remaining_ticks(word: u64, tick: u32) -> i32 {
    (((word >> 40) as u32) << 8).wrapping_sub(tick << 8) as i32
}

/// A connection's owner note: two are in a word.
fn owner_note(owners: &MappedArray, at: usize) -> u32 {
    <u32 as MapValue>::read(&owners.load(at / 2).to_ne_bytes()[at % 2 * 4..])
}

/// Columns of the tally.
const ALL: usize = 0;
const HALF_OPEN: usize = 1;
const CLOSING: usize = 2;
const ACTIVE: usize = 3;

/// Connections by index of server, in columns: a hash table would cost more than reading the tables.
struct ServerTally(Vec<[u32; 4]>);

impl ServerTally {
    /// Counts the word of a flow. Returns whether the flow is live.
    fn count_flow(&mut self, word: u64, tick: u32) -> bool {
        remaining_ticks(word, tick) > 0
            && self.count((word & 0xfff_ffff) as u32, (word >> 28 & 0xf) as u32)
    }

    fn count_record(&mut self, word: u64, server: u32, tick: u32) -> bool {
        let left = ((word >> 32) as u32).wrapping_sub(tick) as i32;
        left > 0 && self.count(server, (word & 0xff) as u32)
    }

    fn count(&mut self, server: u32, state: u32) -> bool {
        const EMBRYONIC: u32 = State::Embryonic as u32;
        const ESTABLISHED: u32 = State::Established as u32;
        const DATAGRAM: u32 = State::Datagram as u32;
        const CLOSED: u32 = State::Closing as u32;
        let Some(row) = self.0.get_mut(server as usize) else { return false };
        row[ALL] += 1;
        match state {
            EMBRYONIC => {
                row[HALF_OPEN] += 1;
                row[ACTIVE] += 1;
            }
            ESTABLISHED | DATAGRAM => row[ACTIVE] += 1,
            CLOSED => row[CLOSING] += 1,
            _ => {}
        }
        true
    }

    fn to_counts(&self, tick: u32) -> ConnectionCounts {
        let mut connections = ConnectionCounts { tick, ..ConnectionCounts::default() };
        for (server, row) in (0..).zip(&self.0).filter(|(_, row)| row[ALL] > 0) {
            let enter = |counts: &mut HashMap<u32, u32>, column: usize| {
                if row[column] > 0 {
                    counts.insert(server, row[column]);
                }
            };
            enter(&mut connections.servers, ALL);
            enter(&mut connections.half_open, HALF_OPEN);
            enter(&mut connections.closing, CLOSING);
            enter(&mut connections.active, ACTIVE);
        }
        connections
    }
}

/// Writes the counts into the gauges, from which the datapath counts on, with the time of the sweep. Returns how many
/// connections began since the last sweep, by service index.
///
/// # Errors
/// A map refuses.
pub fn write_gauges(
    plane: &PacketDatapath,
    connections: &ConnectionCounts,
    owners: &HashMap<u32, u32>,
    services: &[u32],
) -> Result<HashMap<u32, u32>, MapError> {
    let sums = |counts: &HashMap<u32, u32>| {
        let mut sums: HashMap<u32, u32> = HashMap::new();
        for (server, count) in counts {
            if let Some(service) = owners.get(server) {
                *sums.entry(*service).or_default() += count;
            }
        }
        sums
    };
    let flows = sums(&connections.servers);
    let half_open = sums(&connections.half_open);
    let of = |sums: &HashMap<u32, u32>, service: &u32| sums.get(service).copied().unwrap_or(0);
    let mut arrivals = HashMap::new();
    for service in services {
        let old = plane.gauges.get(service)?.unwrap_or_default();
        let new = abi::Gauge {
            flows: of(&flows, service),
            half_open: of(&half_open, service),
            alarm_tick: old.alarm_tick,
            cookie_tick: old.cookie_tick,
            ..abi::Gauge::default()
        };
        if old != new {
            plane.gauges.set(service, &new)?;
        }
        arrivals.insert(*service, old.new_flows);
    }
    let mut config = plane.config.get(&0)?.unwrap_or_default();
    config.swept = connections.tick;
    plane.config.set(&0, &config)?;
    Ok(arrivals)
}
