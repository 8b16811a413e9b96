//! Entries of the tables as records, and records as entries of the tables. It decides nothing about when.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ha::replica::record::{ReplicaRecord, ReplicatedPhase, TranslatedConnection};
use l4::abi::{self, State};
use l4::layout::{IndexedShare, ServerKey, ShareKey};
use l4::replica::{FlowEntry, NatConnection, PutResult, RecordSlot, ReplicatedTable};

use super::server_index::{ReplicatedServer, ServerIndex};
use crate::planes::packets::connection_tables::ConnectionTables;

/// Numbers in the protocol field of an IP header (IANA's registry of protocol numbers).
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The tables with their meaning.
pub struct RecordCodec {
    tables: Arc<ConnectionTables>,
    active: BTreeSet<IpAddr>,
    recently_active: BTreeSet<IpAddr>,
    /// The held addresses have changed: no record was sent for changes meanwhile.
    pub addresses_changed: bool,
    index: ServerIndex,
    /// For each translated connection: a mark of the one that was sent in full; 0 for none.
    sent_marks: Vec<u32>,
    /// Times that all of these marks ceased to count.
    generation: u32,
    /// Records that were entered.
    pub applied: u64,
    /// Records that were not, by why.
    pub rejected: BTreeMap<&'static str, u64>,
    /// Entries that could not be sent, by reason.
    pub unsendable: BTreeMap<&'static str, u64>,
}

impl RecordCodec {
    pub fn new(tables: Arc<ConnectionTables>) -> RecordCodec {
        let mut carrier = RecordCodec {
            sent_marks: vec![0; tables.replica.places(ReplicatedTable::Records) as usize],
            generation: 0,
            index: ServerIndex::default(),
            active: BTreeSet::new(),
            recently_active: BTreeSet::new(),
            addresses_changed: false,
            tables,
            applied: 0,
            rejected: BTreeMap::new(),
            unsendable: BTreeMap::new(),
        };
        carrier.number();
        carrier
    }

    fn number(&mut self) {
        self.index = ServerIndex::from_tables(&self.tables, &self.active, &self.recently_active);
    }

    /// Follows the tables' meaning, and the addresses that are held now or were recently.
    pub fn update_tables(
        &mut self,
        tables: &Arc<ConnectionTables>,
        active: &BTreeSet<IpAddr>,
        lately: &BTreeSet<IpAddr>,
    ) {
        let same = self.active == *active && self.recently_active == *lately;
        if Arc::ptr_eq(&self.tables, tables) && same {
            return;
        }
        self.addresses_changed |= self.active != *active;
        if !Arc::ptr_eq(&self.tables.replica, &tables.replica)
            || self.tables.secret != tables.secret
        {
            self.sent_marks = vec![0; tables.replica.places(ReplicatedTable::Records) as usize];
        }
        self.tables = Arc::clone(tables);
        self.active = active.clone();
        self.recently_active.clone_from(lately);
        self.number();
    }

    pub fn tables(&self) -> &Arc<ConnectionTables> {
        &self.tables
    }

    /// Forgets all sent marks.
    pub fn forget_all(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }

    /// Forgets the record of an entry, because it was lost or must be sent in full.
    pub fn forget_place(&mut self, table: ReplicatedTable, place: u32) {
        if table == ReplicatedTable::Records
            && let Some(told) = self.sent_marks.get_mut(place as usize)
        {
            *told = 0;
        }
    }

    /// The record of an entry; none if there is no connection for which this member is responsible.
    pub fn read_place(
        &mut self,
        table: ReplicatedTable,
        place: u32,
        tick: u32,
    ) -> Option<ReplicaRecord> {
        match table {
            ReplicatedTable::Flows => {
                let entry = self.tables.replica.flow(place, tick)?;
                let server = self
                    .index
                    .server(entry.server)
                    .filter(|one| one.is_sent && one.replicates_flows)?;
                let Some(server) = server.number else { return self.count_untold("same-number") };
                let phase = phase(entry.state)?;
                let left = to_short(entry.ttl_ticks);
                Some(ReplicaRecord::Flow { fingerprint: entry.fingerprint, server, phase, left })
            }
            ReplicatedTable::Sticky => {
                let entry = self.tables.replica.sticky_client(place, tick)?;
                let server = self.index.server(entry.server);
                let server = server.filter(|one| one.is_sent && one.replicates_affinity)?;
                let Some(server) = server.number else { return self.count_untold("same-number") };
                Some(ReplicaRecord::Sticky {
                    fingerprint: entry.fingerprint,
                    server,
                    left: to_short(entry.ttl_ticks),
                })
            }
            ReplicatedTable::Records => self.read_record(place, tick),
        }
    }

    fn read_record(&mut self, place: u32, tick: u32) -> Option<ReplicaRecord> {
        let one = self.tables.replica.connection(place, tick, &self.tables.secret)?;
        let server = self
            .index
            .server(one.server)
            .filter(|server| server.is_sent && server.replicates_flows)?;
        let Some(server) = server.number else { return self.count_untold("same-number") };
        let phase = phase(one.state)?;
        let left = to_short(one.ttl_ticks);
        // The server of a cookie is unknown before the server answers.
        if one.stamp.is_some() && phase == ReplicatedPhase::Opening {
            return None;
        }
        let mark = connection_mark(one.fingerprint, self.generation);
        let told = self.sent_marks.get_mut(place as usize)?;
        if *told == mark {
            return Some(ReplicaRecord::Phase { fingerprint: one.fingerprint, phase, left });
        }
        let Some(IndexedShare { key, region, .. }) = self.index.share(one.share) else {
            return self.count_untold("unknown-return");
        };
        *told = mark;
        let port = place.wrapping_sub(region.first).wrapping_add(abi::FIRST_PORT);
        Some(ReplicaRecord::Translated(TranslatedConnection {
            phase,
            ttl: left,
            udp: one.protocol == UDP,
            client: one.client,
            service: one.service,
            return_address: key.return_address,
            port: u16::try_from(port).ok()?,
            server,
            stamp: one.stamp,
        }))
    }

    /// Counts an entry that cannot be sent.
    pub fn count_untold(&mut self, why: &'static str) -> Option<ReplicaRecord> {
        *self.unsendable.entry(why).or_default() += 1;
        None
    }

    /// Writes a record of the peer into the tables.
    pub fn write_records(&mut self, record: &ReplicaRecord, tick: u32) {
        match self.write_record(record, tick) {
            Ok(()) => self.applied += 1,
            Err(why) => *self.rejected.entry(why).or_default() += 1,
        }
    }

    fn write_record(&self, record: &ReplicaRecord, tick: u32) -> Result<(), &'static str> {
        let replica = &self.tables.replica;
        match *record {
            ReplicaRecord::Flow { fingerprint: print, server, phase, left } => {
                let server = self.is_replicated(server, |server| server.replicates_flows)?;
                let state = state(phase);
                let left = left.into();
                let entry =
                    FlowEntry { fingerprint: print, server: server.index, state, ttl_ticks: left };
                decode_received(replica.put_flow(&entry, tick, !server.is_held))
            }
            ReplicaRecord::Sticky { fingerprint: print, server, left } => {
                let server = self.is_replicated(server, |server| server.replicates_affinity)?;
                let state = State::Free;
                let left = left.into();
                let entry =
                    FlowEntry { fingerprint: print, server: server.index, state, ttl_ticks: left };
                decode_received(replica.put_sticky_client(&entry, tick, !server.is_held))
            }
            ReplicaRecord::Phase { fingerprint: print, phase, left } => {
                let may = |server| self.index.server(server).is_some_and(|one| !one.is_held);
                let put = replica.put_phase(print, state(phase), left.into(), tick, may);
                decode_received(put.ok_or("unknown-connection")?)
            }
            ReplicaRecord::Translated(opened) => self.open(&opened, tick),
        }
    }

    fn open(&self, opened: &TranslatedConnection, tick: u32) -> Result<(), &'static str> {
        let server = self.is_replicated(opened.server, |server| server.replicates_flows)?;
        let protocol = if opened.udp { UDP } else { TCP };
        let ServerKey { address, port, .. } = server.key;
        let TranslatedConnection { client, service, return_address, .. } = *opened;
        let share = ShareKey { server: address, port, return_address, protocol };
        let IndexedShare { index: share, region, .. } =
            *self.index.share_by_key(&share).ok_or("unknown-return")?;
        let at = u32::from(opened.port).checked_sub(abi::FIRST_PORT);
        let at = at.filter(|at| *at < region.length).ok_or("port-beyond")?;
        let connection = NatConnection {
            fingerprint: l4::replica::flow_fingerprint(
                &self.tables.secret,
                client,
                service,
                protocol.into(),
            ),
            state: state(opened.phase),
            ttl_ticks: opened.ttl.into(),
            protocol,
            client,
            service,
            share,
            server: server.index,
            stamp: opened.stamp,
        };
        let kept = return_address.is_none().then_some(SocketAddr::new(address, port));
        let slot = RecordSlot { place: region.first + at, share_index: at, client_source: kept };
        let ConnectionTables { replica, secret, .. } = &*self.tables;
        decode_received(replica.put_record(&connection, &slot, secret, tick, !server.is_held))
    }

    fn is_replicated(
        &self,
        number: u32,
        told: impl Fn(&ReplicatedServer) -> bool,
    ) -> Result<&ReplicatedServer, &'static str> {
        let server = self.index.server_by_number(number).ok_or("unknown-server")?;
        told(server).then_some(server).ok_or("not-wanted")
    }
}

/// The mark of a connection, another one each time that all were forgotten.
fn connection_mark(print: u64, forgotten: u32) -> u32 {
    (print >> 32) as u32 ^ forgotten.wrapping_mul(0x9e37_79b9) | 1
}

fn decode_received(put: PutResult) -> Result<(), &'static str> {
    match put {
        PutResult::Done => Ok(()),
        PutResult::Occupied => Err("held-here"),
        PutResult::Full => Err("no-room"),
    }
}

fn to_short(left: u32) -> u16 {
    u16::try_from(left).unwrap_or(u16::MAX)
}

fn phase(state: State) -> Option<ReplicatedPhase> {
    match state {
        State::Free | State::Claimed => None,
        State::Embryonic => Some(ReplicatedPhase::Opening),
        State::Established => Some(ReplicatedPhase::Open),
        State::ClientClosed => Some(ReplicatedPhase::ClientClosed),
        State::ServerClosed => Some(ReplicatedPhase::ServerClosed),
        State::Closing => Some(ReplicatedPhase::Closing),
        State::Datagram => Some(ReplicatedPhase::Datagram),
    }
}

fn state(phase: ReplicatedPhase) -> State {
    match phase {
        ReplicatedPhase::Opening => State::Embryonic,
        ReplicatedPhase::Open => State::Established,
        ReplicatedPhase::ClientClosed => State::ClientClosed,
        ReplicatedPhase::ServerClosed => State::ServerClosed,
        ReplicatedPhase::Closing => State::Closing,
        ReplicatedPhase::Datagram => State::Datagram,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_before_do_not_count() {
        let marks = [(7 << 32, 0), (7 << 32, 1), (7 << 32, 2), (9 << 32, 0)];
        let marks: BTreeSet<u32> =
            marks.map(|(print, forgotten)| connection_mark(print, forgotten)).into();
        assert_eq!((marks.len(), marks.contains(&0)), (4, false));
    }

    #[test]
    fn states_and_phases_are_the_same() {
        for number in 2..=7 {
            let is = State::of(number).unwrap();
            assert_eq!(phase(is).map(state), Some(is));
        }
        assert_eq!((phase(State::Free), to_short(1 << 20)), (None, u16::MAX));
    }
}
