//! The connection tables for replication to and from another machine: read and written through shared memory while the
//! datapath works on them.
//!
//! This module does not decide what is replicated. Entries contain the server indexes of this host.

mod hash_table;
mod nat_connection;
mod record;

use std::io;
use std::net::SocketAddr;

use bpf::{MapValue as _, MappedArray};

use crate::abi::{self, State};
use crate::datapath::PacketDatapath;
use hash_table::FlowHashTable;
pub use hash_table::{FlowEntry, FlowHashSecret, PutResult, flow_fingerprint};
use nat_connection::RECORD;
pub use nat_connection::{NatConnection, RecordSlot};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplicatedTable {
    /// Connections of `mac` and `tunnel`.
    Flows,
    Records,
    /// Clients that stick to a server.
    Sticky,
}

impl ReplicatedTable {
    pub const ALL: [ReplicatedTable; 3] =
        [ReplicatedTable::Flows, ReplicatedTable::Records, ReplicatedTable::Sticky];
}

/// The tables, laid into memory.
#[derive(Debug)]
pub struct ReplicaTables {
    flows: FlowHashTable,
    sticky: FlowHashTable,
    forward: FlowHashTable,
    records: MappedArray,
    hands: MappedArray,
    changed: [MappedArray; 3],
}

impl ReplicaTables {
    /// Lays the tables of a plane into memory.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(plane: &PacketDatapath) -> io::Result<ReplicaTables> {
        let words = |table: &bpf::TypedMap<u32, u64>| {
            MappedArray::new(table, table.capacity() as usize * 8)
        };
        let records = plane.records.capacity() as usize * abi::Record::SIZE;
        let hands = plane.hands.capacity() as usize * abi::Hand::SIZE;
        Ok(ReplicaTables {
            flows: FlowHashTable::new(&plane.flows)?,
            sticky: FlowHashTable::new(&plane.sticky)?,
            forward: FlowHashTable::new(&plane.forward)?,
            records: MappedArray::new(&plane.records, records)?,
            hands: MappedArray::new(&plane.hands, hands)?,
            changed: [
                words(&plane.flows_changed)?,
                words(&plane.records_changed)?,
                words(&plane.sticky_changed)?,
            ],
        })
    }

    fn changed_bits(&self, table: ReplicatedTable) -> &MappedArray {
        &self.changed[table as usize]
    }

    /// Places of a table.
    pub fn places(&self, table: ReplicatedTable) -> u32 {
        let places = match table {
            ReplicatedTable::Flows => self.flows.places(),
            ReplicatedTable::Sticky => self.sticky.places(),
            ReplicatedTable::Records => self.records.word_count() / RECORD,
        };
        u32::try_from(places).unwrap_or(u32::MAX)
    }

    /// Passes changed places to a callback, from `start` on and then those before it, until the callback stops.
    ///
    /// # Errors
    /// The place where the callback stopped; it stays marked, as do the rest.
    pub fn take_changes(
        &self,
        table: ReplicatedTable,
        from: u32,
        mut each: impl FnMut(u32) -> bool,
    ) -> Result<(), u32> {
        let bits = self.changed_bits(table);
        let first = (from / u64::BITS) as usize % bits.word_count().max(1);
        for at in (first..bits.word_count()).chain(0..first) {
            if bits.load(at) == 0 {
                continue;
            }
            let mut left = bits.take_word(at);
            while left != 0 {
                let place = at as u32 * u64::BITS + left.trailing_zeros();
                if !each(place) {
                    bits.set_bits(at, left);
                    return Err(place);
                }
                left &= left - 1;
            }
        }
        Ok(())
    }

    /// Notes a place as changed.
    pub fn mark_changed(&self, table: ReplicatedTable, place: u32) {
        self.changed_bits(table).set_bits((place / u64::BITS) as usize, 1 << (place % u64::BITS));
    }

    /// Clears all marks, because everything will be sent.
    pub fn clear_changes(&self, table: ReplicatedTable) {
        let bits = self.changed_bits(table);
        for at in 0..bits.word_count() {
            if bits.load(at) != 0 {
                bits.store(at, 0);
            }
        }
    }

    /// Whether a place has an entry; its connection may have ended.
    pub fn is_used(&self, table: ReplicatedTable, place: u32) -> bool {
        match table {
            ReplicatedTable::Flows => self.flows.is_used(place),
            ReplicatedTable::Sticky => self.sticky.is_used(place),
            ReplicatedTable::Records => self.load_word(place) & 0xff > State::Claimed as u64,
        }
    }

    /// The live connection of `mac` or `tunnel` at a place.
    pub fn flow(&self, place: u32, tick: u32) -> Option<FlowEntry> {
        self.flows.entry(place, tick)
    }

    /// The client that sticks at a place.
    pub fn sticky_client(&self, place: u32, tick: u32) -> Option<FlowEntry> {
        self.sticky.entry(place, tick)
    }

    /// Enters a connection of `mac` or `tunnel`; an existing one is changed only with `over`.
    pub fn put_flow(&self, entry: &FlowEntry, tick: u32, over: bool) -> PutResult {
        self.flows.put(
            entry.fingerprint,
            entry.low_word(),
            tick.wrapping_add(entry.ttl_ticks),
            tick,
            over,
        )
    }

    /// Enters a client that sticks.
    pub fn put_sticky_client(&self, entry: &FlowEntry, tick: u32, over: bool) -> PutResult {
        self.sticky.put(
            entry.fingerprint,
            entry.server,
            tick.wrapping_add(entry.ttl_ticks),
            tick,
            over,
        )
    }

    /// Changes the secret of the connection hashes. Connections that are known only by their hash are removed, and
    /// translated connections are entered anew. `preserved_server`: the server's address and port of a connection that
    /// preserves its client's address.
    pub fn change_secret(
        &self,
        secret: &FlowHashSecret,
        tick: u32,
        preserved_server: impl Fn(&NatConnection) -> Option<SocketAddr>,
    ) {
        self.flows.clear();
        self.sticky.clear();
        self.forward.clear();
        for place in 0..self.places(ReplicatedTable::Records) {
            if let Some(connection) = self.connection(place, tick, secret) {
                // A table without room leaves the connection unknown, as on the peer that sent it: the datapath chooses
                // anew.
                let _ = self.add_keys(&connection, place, preserved_server(&connection), secret);
            }
        }
    }
}
