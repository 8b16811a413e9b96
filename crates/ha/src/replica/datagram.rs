//! Packets of replication as bytes and back, signed with the heartbeat's keys. Pure.
//!
//! ```text
//!  0 "SYRP"   4 version   5 least version that can read it   6 key   7 kind
//!  8 session of the sender   16 session of the receiver, as the sender knows it   24 number   32 body   −32 HMAC-SHA256
//! ```
//! Sessions are those of the heartbeat. They are random for each process, so a recorded packet of an earlier process is
//! useless. Within a session numbers of records rise. Apart from the key number, no byte is interpreted before the
//! signature is verified.

use model::capacity::replication_traffic::{
    HEADER_BYTES, MAX_PACKET_BYTES, MAX_RECORD_BYTES, RECORD_SPACE_BYTES,
};

use super::defect::ReplicaDefect;
use super::receive_window::{ACK_WINDOW, Acknowledgement};
use super::record::ReplicaRecord;
use crate::keys::{ClusterKeys, TAG};

/// The version of the format.
pub const VERSION: u8 = 1;
/// The oldest version that can read our packets.
const LEAST: u8 = 1;
const MAGIC: [u8; 4] = *b"SYRP";

/// The facts that the other member needs before the tables can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplicaHello {
    /// The sender holds some shared address.
    pub active: bool,
    /// How often the sender's tables have been recreated, from 1: earlier updates are lost.
    pub epoch: u32,
    /// The newest epoch of the receiver from which the sender has received everything; 0: none yet.
    pub synced_epoch: u32,
    /// The tag of the sender's hash secret.
    pub tag: u64,
    pub sealed: [u8; 32],
}

/// The body of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaBody {
    Records(Vec<ReplicaRecord>),
    /// Which packets of records arrived.
    Acknowledgement(Acknowledgement),
    Hello(ReplicaHello),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaDatagram {
    pub from: u64,
    /// The receiver's session, as far as the sender received it.
    pub to: u64,
    /// Number of the packet of records in the session, from 1; 0 for other kinds.
    pub number: u64,
    /// The number of the signing key.
    pub key: u8,
    pub body: ReplicaBody,
}

/// A packet of entries under construction.
#[derive(Clone, Debug, Default)]
pub struct RecordBatch {
    bytes: Vec<u8>,
    places: Vec<u64>,
}

impl RecordBatch {
    /// Adds the entry of a place. Returns `false` where it cannot be encoded.
    pub fn push(&mut self, place: u64, record: &ReplicaRecord) -> bool {
        let is_encoded = record.emit(&mut self.bytes);
        if is_encoded {
            self.places.push(place);
        }
        is_encoded
    }

    /// No further record is certain to fit.
    pub fn is_full(&self) -> bool {
        self.bytes.len() + MAX_RECORD_BYTES > RECORD_SPACE_BYTES
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Empties the packet and returns the places in it.
    pub(super) fn take_places(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.places)
    }

    pub(super) fn emit(&self, from: u64, to: u64, number: u64, keys: &ClusterKeys) -> Vec<u8> {
        let mut out = emit_head(kind::RECORDS, from, to, number, keys);
        out.extend(&self.bytes);
        keys.sign(&mut out);
        out
    }
}

mod kind {
    // The wire format of replication. Numbers never change their meaning, because members of different versions
    // exchange packets.
    pub const RECORDS: u8 = 1;
    pub const HEARD: u8 = 2;
    pub const HELLO: u8 = 3;
}

/// A flag of the greeting, in the same wire format.
const ACTIVE: u8 = 1;

/// Writes and signs an acknowledgement.
pub fn emit_acknowledgement(
    from: u64,
    to: u64,
    heard: &Acknowledgement,
    keys: &ClusterKeys,
) -> Vec<u8> {
    let mut out = emit_head(kind::HEARD, from, to, 0, keys);
    out.extend(heard.newest.to_be_bytes());
    out.extend(heard.received.iter().flat_map(|word| word.to_be_bytes()));
    keys.sign(&mut out);
    out
}

/// Writes and signs a hello.
pub fn emit_hello(from: u64, to: u64, hello: &ReplicaHello, keys: &ClusterKeys) -> Vec<u8> {
    let mut out = emit_head(kind::HELLO, from, to, 0, keys);
    out.push(u8::from(hello.active) * ACTIVE);
    out.extend(hello.epoch.to_be_bytes());
    out.extend(hello.synced_epoch.to_be_bytes());
    out.extend(hello.tag.to_be_bytes());
    out.extend(hello.sealed);
    keys.sign(&mut out);
    out
}

fn emit_head(kind: u8, from: u64, to: u64, number: u64, keys: &ClusterKeys) -> Vec<u8> {
    let mut out = Vec::with_capacity(MAX_PACKET_BYTES);
    out.extend(MAGIC);
    out.extend([VERSION, LEAST, keys.signer(), kind]);
    for word in [from, to, number] {
        out.extend(word.to_be_bytes());
    }
    out
}

/// Reads a packet.
///
/// # Errors
/// The defect of the packet.
pub fn parse(bytes: &[u8], keys: &ClusterKeys) -> Result<ReplicaDatagram, ReplicaDefect> {
    if bytes.len() > MAX_PACKET_BYTES {
        return Err(ReplicaDefect::Long);
    }
    let signed = bytes.len().checked_sub(TAG).filter(|signed| *signed >= HEADER_BYTES);
    let (all, tag) = bytes.split_at(signed.ok_or(ReplicaDefect::Short)?);
    if all[..4] != MAGIC {
        return Err(ReplicaDefect::Foreign);
    }
    let least = all[5];
    let key = all[6];
    let kind = all[7];
    if !keys.contains(key) {
        return Err(ReplicaDefect::Key);
    }
    if !keys.verify(key, all, tag) {
        return Err(ReplicaDefect::Signature);
    }
    if least > VERSION {
        return Err(ReplicaDefect::Version);
    }
    let from = read_word(all, 8)?;
    let to = read_word(all, 16)?;
    let number = read_word(all, 24)?;
    let body = match kind {
        kind::RECORDS => ReplicaBody::Records(parse_records(&all[HEADER_BYTES..])?),
        kind::HEARD => {
            let mut came = [0; ACK_WINDOW / 64];
            for (at, part) in came.iter_mut().enumerate() {
                *part = read_word(all, HEADER_BYTES + 8 + 8 * at)?;
            }
            ReplicaBody::Acknowledgement(Acknowledgement {
                newest: read_word(all, HEADER_BYTES)?,
                received: came,
            })
        }
        kind::HELLO => ReplicaBody::Hello(parse_hello(&all[HEADER_BYTES..])?),
        _ => return Err(ReplicaDefect::Fields),
    };
    let numbered = matches!(body, ReplicaBody::Records(_)) == (number != 0);
    let whole = numbered && from != 0 && to != 0;
    whole.then_some(ReplicaDatagram { from, to, number, key, body }).ok_or(ReplicaDefect::Fields)
}

fn parse_records(mut bytes: &[u8]) -> Result<Vec<ReplicaRecord>, ReplicaDefect> {
    let mut records = Vec::new();
    while let Some(record) = ReplicaRecord::take_first(&mut bytes)? {
        records.push(record);
    }
    Ok(records)
}

fn parse_hello(bytes: &[u8]) -> Result<ReplicaHello, ReplicaDefect> {
    let [flags, rest @ ..] = bytes else { return Err(ReplicaDefect::Fields) };
    let part = |at: usize| rest.get(at..).and_then(|rest| rest.first_chunk::<4>());
    let [epoch, whole] = [part(0), part(4)].map(|part| part.copied().map(u32::from_be_bytes));
    let sealed = rest.get(16..).and_then(|rest| rest.first_chunk::<32>());
    Ok(ReplicaHello {
        active: flags & ACTIVE != 0,
        epoch: epoch.filter(|epoch| *epoch > 0).ok_or(ReplicaDefect::Fields)?,
        synced_epoch: whole.ok_or(ReplicaDefect::Fields)?,
        tag: read_word(rest, 8)?,
        sealed: *sealed.ok_or(ReplicaDefect::Fields)?,
    })
}

fn read_word(bytes: &[u8], at: usize) -> Result<u64, ReplicaDefect> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
    found.copied().map(u64::from_be_bytes).ok_or(ReplicaDefect::Fields)
}

#[cfg(test)]
mod tests;
