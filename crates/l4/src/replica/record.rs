//! Translated connections: their records in the table, and how a record of another machine is entered so that its port
//! is not allocated here.

use std::net::SocketAddr;

use bpf::MapValue;

use super::hash_table::{FlowHashSecret, PutResult, flow_fingerprint};
use super::nat_connection::{NatConnection, RECORD, RecordSlot};
use super::{ReplicaTables, ReplicatedTable};
use crate::abi::{self, State};
use crate::plan::encoding::{from_mapped_bytes, to_mapped_bytes};

/// Words of a clock hand.
const HAND_WORDS: usize = abi::Hand::SIZE / 8;
/// Reply keys that preserve the client's address are distinct from client keys (`bpf/ports.h`).
const ANSWERS: u32 = 0x2_0000;
/// No next hop to the client is known; the kernel is asked at the first reply (`bpf/learn.h`).
const NO_NEXT_HOP: u32 = 0xfff;
/// LEARNED_TICKS of `bpf/learn.h`.
const NEXT_HOP_TICKS: u32 = 4;

impl ReplicaTables {
    pub(super) fn load_word(&self, place: u32) -> u64 {
        self.records.load(place as usize * RECORD)
    }

    /// The live translated connection at a place.
    pub fn connection(
        &self,
        place: u32,
        tick: u32,
        secret: &FlowHashSecret,
    ) -> Option<NatConnection> {
        let first = place as usize * RECORD;
        let word = self.records.load(first);
        let state = State::of(word as u32 & 0xff).filter(|state| *state > State::Claimed)?;
        let left = ((word >> 32) as u32).wrapping_sub(tick);
        let protocol = (word >> 8 & 0xff) as u8;
        let bytes: [u8; abi::Record::SIZE] = {
            let mut bytes = [0; abi::Record::SIZE];
            for (at, eight) in bytes.chunks_exact_mut(8).enumerate() {
                eight.copy_from_slice(&self.records.load(first + at).to_ne_bytes());
            }
            bytes
        };
        let record = abi::Record::read(&bytes);
        // The record may have been reused meanwhile; then that change is marked.
        let same = self.records.load(first) as u32 == word as u32;
        if !same || left as i32 <= 0 {
            return None;
        }
        let client = SocketAddr::new(from_mapped_bytes(record.client), record.client_port);
        let service = SocketAddr::new(from_mapped_bytes(record.addr), record.port);
        let cookie = word >> 16 & u64::from(abi::RECORD_COOKIE) != 0;
        Some(NatConnection {
            fingerprint: flow_fingerprint(secret, client, service, protocol.into()),
            state,
            ttl_ticks: left,
            protocol,
            client,
            service,
            share: record.share,
            server: record.server,
            stamp: cookie.then_some(record.stamp),
        })
    }

    /// Enters a connection of another machine. A live record stays unless `over` is set.
    pub fn put_record(
        &self,
        connection: &NatConnection,
        slot: &RecordSlot,
        secret: &FlowHashSecret,
        tick: u32,
        over: bool,
    ) -> PutResult {
        let first = slot.place as usize * RECORD;
        if self.records.word_count() < first + RECORD {
            return PutResult::Full;
        }
        let old = self.records.load(first);
        let before = self.connection(slot.place, tick, secret);
        if before.is_some() && !over {
            return PutResult::Occupied;
        }
        let claimed = record_word(tick.wrapping_add(8), 0, State::Claimed);
        if !self.records.compare_exchange(first, old, claimed) {
            return PutResult::Occupied;
        }
        self.remove_keys(
            slot,
            before.filter(|before| before.fingerprint != connection.fingerprint),
            secret,
        );
        self.write_record(connection, first, tick);
        if self.add_keys(connection, slot.place, slot.client_source, secret) != PutResult::Done {
            self.records.store(first, 0);
            return PutResult::Full;
        }
        let cookie = if connection.stamp.is_some() { abi::RECORD_COOKIE } else { 0 };
        let middle = u32::from(connection.protocol) | cookie << 8;
        let deadline = tick.wrapping_add(connection.ttl_ticks);
        self.records.store(first, record_word(deadline, middle, connection.state));
        // The peer allocated this port last, so the next allocation here starts after it.
        self.hands.store(connection.share as usize * HAND_WORDS, u64::from(slot.share_index) + 1);
        PutResult::Done
    }

    /// The fields of a record except its word.
    fn write_record(&self, connection: &NatConnection, first: usize, tick: u32) {
        let record = abi::Record {
            word: 0,
            client: to_mapped_bytes(connection.client.ip()),
            addr: to_mapped_bytes(connection.service.ip()),
            client_port: connection.client.port(),
            port: connection.service.port(),
            share: connection.share,
            server: connection.server,
            end: 0,
            stamp: connection.stamp.unwrap_or(0),
            return_hop: NO_NEXT_HOP | tick.wrapping_sub(NEXT_HOP_TICKS) << 12,
        };
        let mut bytes = [0; abi::Record::SIZE];
        record.write(&mut bytes);
        for (at, eight) in bytes.chunks_exact(8).enumerate().skip(1) {
            self.records.store(first + at, <u64 as MapValue>::read(eight));
        }
    }

    /// Enters the keys by which a record is found.
    pub(super) fn add_keys(
        &self,
        connection: &NatConnection,
        place: u32,
        preserved_server: Option<SocketAddr>,
        secret: &FlowHashSecret,
    ) -> PutResult {
        let entered = self.forward.put_free(connection.fingerprint, place);
        if let Some(server) = preserved_server.filter(|_| entered == PutResult::Done) {
            // Without room for its reply the connection is still found from the client's side, as its result reports.
            let _ = self.forward.put_free(reply_fingerprint(connection, server, secret), place);
        }
        entered
    }

    /// Removes the keys of a slot's record.
    fn remove_keys(
        &self,
        slot: &RecordSlot,
        before: Option<NatConnection>,
        secret: &FlowHashSecret,
    ) {
        let Some(before) = before else { return };
        self.forward.forget(before.fingerprint, slot.place);
        if let Some(server) = slot.client_source {
            self.forward.forget(reply_fingerprint(&before, server, secret), slot.place);
        }
    }

    /// Sets the phase of a peer's translated connection. `None` if the connection is unknown. `may`: whether a
    /// connection of this server index may be changed.
    pub fn put_phase(
        &self,
        fingerprint: u64,
        state: State,
        left: u32,
        tick: u32,
        may: impl Fn(u32) -> bool,
    ) -> Option<PutResult> {
        let place = self
            .forward
            .find_low_word(fingerprint)
            .filter(|at| *at < self.places(ReplicatedTable::Records))?;
        let first = place as usize * RECORD;
        let old = self.records.load(first);
        if old & 0xff <= State::Claimed as u64 {
            return None;
        }
        // The server index is in the seventh word.
        if !may(self.records.load(first + 6) as u32) {
            return Some(PutResult::Occupied);
        }
        let new = record_word(tick.wrapping_add(left), old as u32 >> 8, state);
        self.records.compare_exchange(first, old, new).then_some(PutResult::Done)
    }
}

fn reply_fingerprint(
    connection: &NatConnection,
    server: SocketAddr,
    secret: &FlowHashSecret,
) -> u64 {
    let port = if server.port() == 0 { connection.service.port() } else { server.port() };
    let proto = u32::from(connection.protocol) | ANSWERS;
    flow_fingerprint(secret, SocketAddr::new(server.ip(), port), connection.client, proto)
}

fn record_word(deadline: u32, middle: u32, state: State) -> u64 {
    u64::from(deadline) << 32 | u64::from(middle) << 8 | state as u64
}
