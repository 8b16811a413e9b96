//! The tables of connections as another machine is told of them, and as they are filled with what another machine tells:
//! read and written through shared memory while the datapath works on them.
//!
//! It decides nothing about what is told: entries go out and come in with the indexes that servers have here.

mod connection;
mod hashed;
mod record;

use std::io;
use std::net::IpAddr;

use bpf::{Mapped, Value as _};

use crate::abi::{self, State};
use crate::plane::Plane;
use connection::RECORD;
pub use connection::{Connection, Slot};
use hashed::Hashed;
pub use hashed::{Entry, Put, Secret, print_of};

/// A table whose entries are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Connections of `mac` and `tunnel`.
    Flows,
    /// Translated connections.
    Records,
    /// Clients that stick to a server.
    Sticky,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 3] = [Table::Flows, Table::Records, Table::Sticky];
}

/// The tables, laid into memory.
#[derive(Debug)]
pub struct Replica {
    flows: Hashed,
    sticky: Hashed,
    forward: Hashed,
    records: Mapped,
    hands: Mapped,
    changed: [Mapped; 3],
}

impl Replica {
    /// Lays the tables of a plane into memory.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(plane: &Plane) -> io::Result<Replica> {
        let words =
            |table: &bpf::Table<u32, u64>| Mapped::new(table, table.capacity() as usize * 8);
        let records = plane.records.capacity() as usize * abi::Record::SIZE;
        let hands = plane.hands.capacity() as usize * abi::Hand::SIZE;
        Ok(Replica {
            flows: Hashed::new(&plane.flows)?,
            sticky: Hashed::new(&plane.sticky)?,
            forward: Hashed::new(&plane.forward)?,
            records: Mapped::new(&plane.records, records)?,
            hands: Mapped::new(&plane.hands, hands)?,
            changed: [
                words(&plane.flows_changed)?,
                words(&plane.records_changed)?,
                words(&plane.sticky_changed)?,
            ],
        })
    }

    fn bits(&self, table: Table) -> &Mapped {
        &self.changed[table as usize]
    }

    /// Places of a table.
    pub fn places(&self, table: Table) -> u32 {
        let places = match table {
            Table::Flows => self.flows.places(),
            Table::Sticky => self.sticky.places(),
            Table::Records => self.records.words() / RECORD,
        };
        u32::try_from(places).unwrap_or(u32::MAX)
    }

    /// Hands out the places that have changed, from about this one on and then those before it, until it is told to stop.
    ///
    /// # Errors
    /// The place at which that was: it stays noted, with what is left.
    pub fn changes(
        &self,
        table: Table,
        from: u32,
        mut each: impl FnMut(u32) -> bool,
    ) -> Result<(), u32> {
        let bits = self.bits(table);
        let first = (from / u64::BITS) as usize % bits.words().max(1);
        for at in (first..bits.words()).chain(0..first) {
            if bits.load(at) == 0 {
                continue;
            }
            let mut left = bits.take(at);
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
    pub fn note(&self, table: Table, place: u32) {
        self.bits(table).set_bits((place / u64::BITS) as usize, 1 << (place % u64::BITS));
    }

    /// Takes every note of changes away: everything is going to be told.
    pub fn forget_changes(&self, table: Table) {
        let bits = self.bits(table);
        for at in 0..bits.words() {
            if bits.load(at) != 0 {
                bits.store(at, 0);
            }
        }
    }

    /// Whether something stands at a place; it may have ended.
    pub fn is_used(&self, table: Table, place: u32) -> bool {
        match table {
            Table::Flows => self.flows.used(place),
            Table::Sticky => self.sticky.used(place),
            Table::Records => self.word(place) & 0xff > State::Claimed as u64,
        }
    }

    /// The connection of `mac` or `tunnel` at a place, if one lives there.
    pub fn flow(&self, place: u32, tick: u32) -> Option<Entry> {
        self.flows.entry(place, tick)
    }

    /// The client that sticks at a place.
    pub fn stuck(&self, place: u32, tick: u32) -> Option<Entry> {
        self.sticky.entry(place, tick)
    }

    /// Enters a connection of `mac` or `tunnel`; one that is there is changed only where `over` says so.
    pub fn put_flow(&self, entry: &Entry, tick: u32, over: bool) -> Put {
        self.flows.put(entry.print, entry.low(), tick.wrapping_add(entry.left), tick, over)
    }

    /// Enters a client that sticks.
    pub fn put_stuck(&self, entry: &Entry, tick: u32, over: bool) -> Put {
        self.sticky.put(entry.print, entry.server, tick.wrapping_add(entry.left), tick, over)
    }

    /// From now on connections are hashed with another secret: forgets those of which nothing but the hash is known, and
    /// enters translated ones anew. `kept`: the
    /// address and port of the server of one that keeps its client's address.
    pub fn begin_anew(
        &self,
        secret: &Secret,
        tick: u32,
        kept: impl Fn(&Connection) -> Option<(IpAddr, u16)>,
    ) {
        self.flows.clear();
        self.sticky.clear();
        self.forward.clear();
        for place in 0..self.places(Table::Records) {
            if let Some(connection) = self.connection(place, tick, secret) {
                let _ = self.enter(&connection, place, kept(&connection), secret);
            }
        }
    }
}
