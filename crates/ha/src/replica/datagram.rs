//! Packets of replication as bytes and back, signed with the heartbeat's keys. Pure.
//!
//! ```text
//!  0 "SYRP"   4 version   5 least version that can read it   6 key   7 kind
//!  8 session of the sender   16 session of the receiver, as the sender knows it   24 number   32 body   −32 HMAC-SHA256
//! ```
//! Sessions are those of the heartbeat: drawn at random when a process begins, so a packet that was recorded before
//! either began is of no use. Within a session numbers of records rise. What an own signature does not cover is not
//! looked at, but what names the key.

use model::capacity::telling::{HEAD, LARGEST, LONGEST, ROOM};

use super::record::Record;
use super::taken::{Heard, SEEN};
use super::wrong::Defect;
use crate::keys::{Keys, TAG};

/// The version of the form.
pub const VERSION: u8 = 1;
/// The oldest version that understands what we write.
const LEAST: u8 = 1;
const MAGIC: [u8; 4] = *b"SYRP";

/// How a member stands that the other one may bring its tables over from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// It holds some shared address.
    pub active: bool,
    /// How often its tables have begun anew, from 1: what it was told before is gone.
    pub epoch: u32,
    /// The receiver's epoch of which everything that the sender had has arrived; 0: of none yet.
    pub whole: u32,
    /// What its secret is known by.
    pub tag: u64,
    /// Its secret, sealed.
    pub sealed: [u8; 32],
}

/// What a packet says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Entries of tables.
    Records(Vec<Record>),
    /// Which packets of records came.
    Heard(Heard),
    /// How the sender stands.
    Hello(Hello),
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The sender's process.
    pub from: u64,
    /// The receiver's, as the sender knows it.
    pub to: u64,
    /// Counts packets of records in the session, from 1; 0 for others.
    pub number: u64,
    /// The number of the key that signed it.
    pub key: u8,
    /// What it says.
    pub body: Body,
}

/// Entries that are sent together, while they are put together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    places: Vec<u64>,
}

impl Batch {
    /// Adds what is told of a place; `false` where it cannot be told.
    pub fn push(&mut self, place: u64, record: &Record) -> bool {
        let told = record.emit(&mut self.bytes);
        if told {
            self.places.push(place);
        }
        told
    }

    /// No further record may fit.
    pub fn is_full(&self) -> bool {
        self.bytes.len() + LONGEST > ROOM
    }

    /// Nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The places that it tells of, of which it is emptied.
    pub(super) fn places(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.places)
    }

    /// Its packet, signed.
    pub(super) fn emit(&self, from: u64, to: u64, number: u64, keys: &Keys) -> Vec<u8> {
        let mut out = head(kind::RECORDS, from, to, number, keys);
        out.extend(&self.bytes);
        keys.sign(&mut out);
        out
    }
}

/// Kinds of packets.
mod kind {
    pub const RECORDS: u8 = 1;
    pub const HEARD: u8 = 2;
    pub const HELLO: u8 = 3;
}

const ACTIVE: u8 = 1;

/// Writes which packets came, signed.
pub fn heard(from: u64, to: u64, heard: &Heard, keys: &Keys) -> Vec<u8> {
    let mut out = head(kind::HEARD, from, to, 0, keys);
    out.extend(heard.newest.to_be_bytes());
    out.extend(heard.came.iter().flat_map(|word| word.to_be_bytes()));
    keys.sign(&mut out);
    out
}

/// Writes how we stand, signed.
pub fn hello(from: u64, to: u64, hello: &Hello, keys: &Keys) -> Vec<u8> {
    let mut out = head(kind::HELLO, from, to, 0, keys);
    out.push(u8::from(hello.active) * ACTIVE);
    out.extend(hello.epoch.to_be_bytes());
    out.extend(hello.whole.to_be_bytes());
    out.extend(hello.tag.to_be_bytes());
    out.extend(hello.sealed);
    keys.sign(&mut out);
    out
}

fn head(kind: u8, from: u64, to: u64, number: u64, keys: &Keys) -> Vec<u8> {
    let mut out = Vec::with_capacity(LARGEST);
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
/// What is wrong with it.
pub fn parse(bytes: &[u8], keys: &Keys) -> Result<Datagram, Defect> {
    if bytes.len() > LARGEST {
        return Err(Defect::Long);
    }
    let signed = bytes.len().checked_sub(TAG).filter(|signed| *signed >= HEAD);
    let (all, tag) = bytes.split_at(signed.ok_or(Defect::Short)?);
    if all[..4] != MAGIC {
        return Err(Defect::Foreign);
    }
    let (least, key, kind) = (all[5], all[6], all[7]);
    if !keys.has(key) {
        return Err(Defect::Key);
    }
    if !keys.verify(key, all, tag) {
        return Err(Defect::Signature);
    }
    if least > VERSION {
        return Err(Defect::Version);
    }
    let (from, to, number) = (word(all, 8)?, word(all, 16)?, word(all, 24)?);
    let body = match kind {
        kind::RECORDS => Body::Records(records(&all[HEAD..])?),
        kind::HEARD => {
            let mut came = [0; SEEN / 64];
            for (at, part) in came.iter_mut().enumerate() {
                *part = word(all, HEAD + 8 + 8 * at)?;
            }
            Body::Heard(Heard { newest: word(all, HEAD)?, came })
        }
        kind::HELLO => Body::Hello(hello_of(&all[HEAD..])?),
        _ => return Err(Defect::Fields),
    };
    let numbered = matches!(body, Body::Records(_)) == (number != 0);
    let whole = numbered && from != 0 && to != 0;
    whole.then_some(Datagram { from, to, number, key, body }).ok_or(Defect::Fields)
}

fn records(mut bytes: &[u8]) -> Result<Vec<Record>, Defect> {
    let mut records = Vec::new();
    while let Some(record) = Record::take(&mut bytes)? {
        records.push(record);
    }
    Ok(records)
}

fn hello_of(bytes: &[u8]) -> Result<Hello, Defect> {
    let [flags, rest @ ..] = bytes else { return Err(Defect::Fields) };
    let part = |at: usize| rest.get(at..).and_then(|rest| rest.first_chunk::<4>());
    let [epoch, whole] = [part(0), part(4)].map(|part| part.copied().map(u32::from_be_bytes));
    let sealed = rest.get(16..).and_then(|rest| rest.first_chunk::<32>());
    Ok(Hello {
        active: flags & ACTIVE != 0,
        epoch: epoch.filter(|epoch| *epoch > 0).ok_or(Defect::Fields)?,
        whole: whole.ok_or(Defect::Fields)?,
        tag: word(rest, 8)?,
        sealed: *sealed.ok_or(Defect::Fields)?,
    })
}

fn word(bytes: &[u8], at: usize) -> Result<u64, Defect> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
    found.copied().map(u64::from_be_bytes).ok_or(Defect::Fields)
}

#[cfg(test)]
mod tests;
