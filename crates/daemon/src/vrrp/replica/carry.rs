//! Entries of the tables as records, and records as entries of the tables. It decides nothing about when.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use ha::replica::record::{Opened, Phase, Record};
use l4::abi::{self, State};
use l4::layout::ShareKey;
use l4::replica::{Connection, Entry, Put, Slot, Table};

use super::index::{Index, Server};
use crate::packets::tables::Tables;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The tables with their meaning.
pub struct Carrier {
    tables: Arc<Tables>,
    active: BTreeSet<IpAddr>,
    lately: BTreeSet<IpAddr>,
    /// Other addresses are held than before: what changed meanwhile was told by nobody.
    pub moved: bool,
    index: Index,
    /// By place of a translated connection: a mark of the one that was told in full; 0 for none.
    told: Vec<u32>,
    /// Times that all of these marks ceased to count.
    forgotten: u32,
    /// Records that were entered.
    pub applied: u64,
    /// Records that were not, by why.
    pub rejected: BTreeMap<&'static str, u64>,
    /// Entries that could not be told, by why.
    pub untold: BTreeMap<&'static str, u64>,
}

impl Carrier {
    /// Of these tables.
    pub fn new(tables: Arc<Tables>) -> Carrier {
        let mut carrier = Carrier {
            told: vec![0; tables.replica.places(Table::Records) as usize],
            forgotten: 0,
            index: Index::default(),
            active: BTreeSet::new(),
            lately: BTreeSet::new(),
            moved: false,
            tables,
            applied: 0,
            rejected: BTreeMap::new(),
            untold: BTreeMap::new(),
        };
        carrier.number();
        carrier
    }

    fn number(&mut self) {
        self.index = Index::of(&self.tables, &self.active, &self.lately);
    }

    /// Follows what the tables mean, and which addresses are held, now and lately.
    pub fn follow(
        &mut self,
        tables: &Arc<Tables>,
        active: &BTreeSet<IpAddr>,
        lately: &BTreeSet<IpAddr>,
    ) {
        let same = self.active == *active && self.lately == *lately;
        if Arc::ptr_eq(&self.tables, tables) && same {
            return;
        }
        self.moved |= self.active != *active;
        if !Arc::ptr_eq(&self.tables.replica, &tables.replica)
            || self.tables.secret != tables.secret
        {
            self.told = vec![0; tables.replica.places(Table::Records) as usize];
        }
        (self.tables, self.active) = (Arc::clone(tables), active.clone());
        self.lately.clone_from(lately);
        self.number();
    }

    /// The tables.
    pub fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    /// Nothing was told of any place.
    pub fn forget(&mut self) {
        self.forgotten = self.forgotten.wrapping_add(1);
    }

    /// What was told of a place did not come, or is to be told in full again.
    pub fn forget_place(&mut self, table: Table, place: u32) {
        if table == Table::Records
            && let Some(told) = self.told.get_mut(place as usize)
        {
            *told = 0;
        }
    }

    /// What the other member is to be told of a place; nothing where nothing lives that this member answers for.
    pub fn read(&mut self, table: Table, place: u32, tick: u32) -> Option<Record> {
        match table {
            Table::Flows => {
                let entry = self.tables.replica.flow(place, tick)?;
                let server =
                    self.index.server(entry.server).filter(|one| one.tells && one.flows)?;
                let Some(server) = server.number else { return self.cannot("same-number") };
                let (phase, left) = (phase(entry.state)?, short(entry.left));
                Some(Record::Flow { print: entry.print, server, phase, left })
            }
            Table::Sticky => {
                let entry = self.tables.replica.stuck(place, tick)?;
                let server = self.index.server(entry.server);
                let server = server.filter(|one| one.tells && one.affinity)?;
                let Some(server) = server.number else { return self.cannot("same-number") };
                Some(Record::Stuck { print: entry.print, server, left: short(entry.left) })
            }
            Table::Records => self.read_record(place, tick),
        }
    }

    fn read_record(&mut self, place: u32, tick: u32) -> Option<Record> {
        let one = self.tables.replica.connection(place, tick, &self.tables.secret)?;
        let server = self.index.server(one.server).filter(|server| server.tells && server.flows)?;
        let Some(server) = server.number else { return self.cannot("same-number") };
        let (phase, left) = (phase(one.state)?, short(one.left));
        // What a cookie stands for is not known before the server answers.
        if one.stamp.is_some() && phase == Phase::Opening {
            return None;
        }
        let mark = mark(one.print, self.forgotten);
        let told = self.told.get_mut(place as usize)?;
        if *told == mark {
            return Some(Record::Phase { print: one.print, phase, left });
        }
        let Some((key, region)) = self.index.share(one.share) else {
            return self.cannot("unknown-return");
        };
        *told = mark;
        let port = place.wrapping_sub(region.first).wrapping_add(abi::FIRST_PORT);
        Some(Record::Opened(Opened {
            phase,
            left,
            udp: one.protocol == UDP,
            client: one.client,
            service: one.service,
            back: key.back,
            port: u16::try_from(port).ok()?,
            server,
            stamp: one.stamp,
        }))
    }

    /// An entry that cannot be told.
    pub fn cannot(&mut self, why: &'static str) -> Option<Record> {
        *self.untold.entry(why).or_default() += 1;
        None
    }

    /// Enters what the other member tells.
    pub fn write(&mut self, record: &Record, tick: u32) {
        match self.enter(record, tick) {
            Ok(()) => self.applied += 1,
            Err(why) => *self.rejected.entry(why).or_default() += 1,
        }
    }

    fn enter(&self, record: &Record, tick: u32) -> Result<(), &'static str> {
        let replica = &self.tables.replica;
        match *record {
            Record::Flow { print, server, phase, left } => {
                let server = self.wanted(server, |server| server.flows)?;
                let (state, left) = (state(phase), left.into());
                let entry = Entry { print, server: server.index, state, left };
                came(replica.put_flow(&entry, tick, !server.held))
            }
            Record::Stuck { print, server, left } => {
                let server = self.wanted(server, |server| server.affinity)?;
                let (state, left) = (State::Free, left.into());
                let entry = Entry { print, server: server.index, state, left };
                came(replica.put_stuck(&entry, tick, !server.held))
            }
            Record::Phase { print, phase, left } => {
                let may = |server| self.index.server(server).is_some_and(|one| !one.held);
                let put = replica.put_phase(print, (state(phase), left.into()), tick, may);
                came(put.ok_or("unknown-connection")?)
            }
            Record::Opened(opened) => self.open(&opened, tick),
        }
    }

    fn open(&self, opened: &Opened, tick: u32) -> Result<(), &'static str> {
        let server = self.wanted(opened.server, |server| server.flows)?;
        let protocol = if opened.udp { UDP } else { TCP };
        let (address, port) = (server.key.address, server.key.port);
        let share = ShareKey { server: address, port, back: opened.back, protocol };
        let (share, region) = self.index.keyed(&share).ok_or("unknown-return")?;
        let at = u32::from(opened.port).checked_sub(abi::FIRST_PORT);
        let at = at.filter(|at| *at < region.length).ok_or("port-beyond")?;
        let connection = Connection {
            print: l4::replica::print_of(
                &self.tables.secret,
                opened.client,
                opened.service,
                protocol.into(),
            ),
            state: state(opened.phase),
            left: opened.left.into(),
            protocol,
            client: opened.client,
            service: opened.service,
            share,
            server: server.index,
            stamp: opened.stamp,
        };
        let kept = opened.back.is_none().then_some((address, port));
        let slot = Slot { place: region.first + at, at, kept };
        let with = (&self.tables.secret, tick);
        came(self.tables.replica.put_record(&connection, &slot, with, !server.held))
    }

    fn wanted(&self, number: u32, told: impl Fn(&Server) -> bool) -> Result<&Server, &'static str> {
        let server = self.index.numbered(number).ok_or("unknown-server")?;
        told(server).then_some(server).ok_or("not-wanted")
    }
}

/// The mark of a connection, another one each time that all were forgotten.
fn mark(print: u64, forgotten: u32) -> u32 {
    (print >> 32) as u32 ^ forgotten.wrapping_mul(0x9e37_79b9) | 1
}

fn came(put: Put) -> Result<(), &'static str> {
    match put {
        Put::Done => Ok(()),
        Put::Kept => Err("held-here"),
        Put::Full => Err("no-room"),
    }
}

fn short(left: u32) -> u16 {
    u16::try_from(left).unwrap_or(u16::MAX)
}

fn phase(state: State) -> Option<Phase> {
    match state {
        State::Free | State::Claimed => None,
        State::Embryonic => Some(Phase::Opening),
        State::Established => Some(Phase::Open),
        State::ClientClosed => Some(Phase::ClientClosed),
        State::ServerClosed => Some(Phase::ServerClosed),
        State::Closing => Some(Phase::Closing),
        State::Datagram => Some(Phase::Datagram),
    }
}

fn state(phase: Phase) -> State {
    match phase {
        Phase::Opening => State::Embryonic,
        Phase::Open => State::Established,
        Phase::ClientClosed => State::ClientClosed,
        Phase::ServerClosed => State::ServerClosed,
        Phase::Closing => State::Closing,
        Phase::Datagram => State::Datagram,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_before_do_not_count() {
        let marks = [(7 << 32, 0), (7 << 32, 1), (7 << 32, 2), (9 << 32, 0)];
        let marks: BTreeSet<u32> = marks.map(|(print, forgotten)| mark(print, forgotten)).into();
        assert_eq!((marks.len(), marks.contains(&0)), (4, false));
    }

    #[test]
    fn states_and_phases_are_the_same() {
        for number in 2..=7 {
            let is = State::of(number).unwrap();
            assert_eq!(phase(is).map(state), Some(is));
        }
        assert_eq!((phase(State::Free), short(1 << 20)), (None, u16::MAX));
    }
}
