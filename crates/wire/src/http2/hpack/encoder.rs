//! Encodes field sections as header blocks (RFC 7541 §6).
//!
//! A field enters the table when it is sent for the second time, so that values which never repeat neither cost an entry
//! nor evict others. Secrets never enter it (RFC 7541 §7.1.3).

use std::collections::VecDeque;

use super::dynamic_table::DynamicTable;
use super::integer::append_string;
use super::static_table::{self, ENTRIES, TableMatch, hash_name};
use crate::field_section::{FieldSection, PER_FIELD};
use crate::prefix_integer;

/// The largest table that is used, whatever the peer allows.
/// The initial size of RFC 9113 §6.5.2.
const MAX_TABLE: usize = 4_096;

/// Shorter cookies may be guessed byte by byte through the compressed length.
/// A session id of 120 bits in Base64 has 20 bytes.
const SHORT_SECRET: usize = 20;

/// Chains of the table's hash index. A power of two; a full table has at most 128 entries.
const CHAINS: usize = 64;

/// Hashes of fields that were sent and are not in the table.
const RECENT: usize = 64;

/// The encoder of one connection's blocks.
#[derive(Debug)]
pub struct HpackEncoder {
    table: DynamicTable,
    /// Number of insertions, which numbers the entries.
    inserted: u32,
    /// The newest entry of each chain.
    names: [u32; CHAINS],
    fields: [u32; CHAINS],
    /// The next older entries in the chains of each entry, in the order of the table.
    links: VecDeque<ChainLinks>,
    recent: [u32; RECENT],
    size_update: Option<SizeUpdate>,
}

/// The entries that had the same hashes before.
#[derive(Clone, Copy, Debug)]
struct ChainLinks {
    name: u32,
    field: u32,
}

/// A change of the table's size that the next block announces (RFC 7541 §4.2).
#[derive(Clone, Copy, Debug)]
struct SizeUpdate {
    smallest: usize,
    last: usize,
}

/// The hashes of a field.
#[derive(Clone, Copy)]
struct FieldHashes {
    name: u32,
    field: u32,
}

/// How a literal field treats the table (RFC 7541 §6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LiteralKind {
    Insert,
    WithoutIndexing,
    NeverIndexed,
}

impl Default for HpackEncoder {
    fn default() -> HpackEncoder {
        HpackEncoder {
            table: DynamicTable::new(MAX_TABLE),
            inserted: 0,
            names: [0; CHAINS],
            fields: [0; CHAINS],
            links: VecDeque::new(),
            recent: [0; RECENT],
            size_update: None,
        }
    }
}

impl HpackEncoder {
    /// Applies the peer's SETTINGS_HEADER_TABLE_SIZE.
    pub fn set_table_size(&mut self, allowed: usize) {
        let size = allowed.min(MAX_TABLE);
        if size == self.table.max_size() && self.size_update.is_none() {
            return;
        }
        let before = self.size_update.map_or(usize::MAX, |update| update.smallest);
        self.size_update = Some(SizeUpdate { smallest: before.min(size), last: size });
        self.table.set_max_size(size);
        self.forget_evicted();
    }

    /// Appends a block with these fields.
    pub fn encode(&mut self, fields: &FieldSection, out: &mut Vec<u8>) {
        if let Some(update) = self.size_update.take() {
            if update.smallest < update.last {
                prefix_integer::append(0x20, 5, update.smallest, out);
            }
            prefix_integer::append(0x20, 5, update.last, out);
        }
        for (name, value) in fields.iter() {
            self.encode_field(name, value, out);
        }
    }

    fn encode_field(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        let name_hash = hash_name(name);
        let fixed = static_table::find(name, name_hash, value);
        if let Some(found) = fixed.filter(|found| found.has_value) {
            return prefix_integer::append(0x80, 7, found.index, out);
        }
        if is_secret(name, value) {
            let known = fixed.or_else(|| self.find_name(name_hash, name));
            return append_literal(LiteralKind::NeverIndexed, known, name, value, out);
        }
        let hashes = FieldHashes { name: name_hash, field: hash_value(name_hash, value) };
        if let Some(index) = self.find_field(hashes.field, name, value) {
            return prefix_integer::append(0x80, 7, index, out);
        }
        let known = fixed.or_else(|| self.find_name(name_hash, name));
        let repeated = self.was_sent(hashes.field) || (known.is_none() && self.was_sent(name_hash));
        let fits = name.len() + value.len() + PER_FIELD <= self.table.max_size();
        if repeated && fits {
            append_literal(LiteralKind::Insert, known, name, value, out);
            self.insert(hashes, name, value);
        } else {
            append_literal(LiteralKind::WithoutIndexing, known, name, value, out);
        }
    }

    fn insert(&mut self, hashes: FieldHashes, name: &[u8], value: &[u8]) {
        let name_chain = &mut self.names[hashes.name as usize % CHAINS];
        let field_chain = &mut self.fields[hashes.field as usize % CHAINS];
        let links = ChainLinks { name: *name_chain, field: *field_chain };
        *name_chain = self.inserted;
        *field_chain = self.inserted;
        self.inserted = self.inserted.wrapping_add(1);
        self.table.insert(name, value);
        self.links.push_back(links);
        self.forget_evicted();
    }

    fn forget_evicted(&mut self) {
        let evicted = self.links.len().saturating_sub(self.table.len());
        self.links.drain(..evicted);
    }

    fn find_field(&self, hash: u32, name: &[u8], value: &[u8]) -> Option<usize> {
        let mut age = self.age(self.fields[hash as usize % CHAINS])?;
        loop {
            let field = self.table.get(age)?;
            if field.value == value && field.name == name {
                return Some(ENTRIES.len() + 1 + age);
            }
            age = self.older(age, self.links(age)?.field)?;
        }
    }

    fn find_name(&self, hash: u32, name: &[u8]) -> Option<TableMatch> {
        let mut age = self.age(self.names[hash as usize % CHAINS])?;
        loop {
            if self.table.get(age)?.name == name {
                return Some(TableMatch { index: ENTRIES.len() + 1 + age, has_value: false });
            }
            age = self.older(age, self.links(age)?.name)?;
        }
    }

    /// How many insertions ago an entry was inserted; `None`: it has left the table.
    fn age(&self, number: u32) -> Option<usize> {
        let age = self.inserted.wrapping_sub(number).checked_sub(1)? as usize;
        Some(age).filter(|age| *age < self.table.len())
    }

    /// The age of the entry `number`, which must be older than `age`: numbers of entries that have left may repeat.
    fn older(&self, age: usize, number: u32) -> Option<usize> {
        self.age(number).filter(|older| *older > age)
    }

    fn links(&self, age: usize) -> Option<ChainLinks> {
        self.links.get(self.links.len().checked_sub(age + 1)?).copied()
    }

    /// Whether something with this hash was sent recently; it counts as sent from now on.
    fn was_sent(&mut self, hash: u32) -> bool {
        std::mem::replace(&mut self.recent[hash as usize % RECENT], hash) == hash
    }
}

/// Whether an attacker who sees the length of what is sent could guess the value if it entered the table.
fn is_secret(name: &[u8], value: &[u8]) -> bool {
    match name {
        b"authorization" | b"proxy-authorization" => true,
        b"cookie" | b"set-cookie" => value.len() < SHORT_SECRET,
        _ => false,
    }
}

fn append_literal(
    kind: LiteralKind,
    known: Option<TableMatch>,
    name: &[u8],
    value: &[u8],
    out: &mut Vec<u8>,
) {
    let index = known.map_or(0, |known| known.index);
    match kind {
        LiteralKind::Insert => prefix_integer::append(0x40, 6, index, out),
        LiteralKind::WithoutIndexing => prefix_integer::append(0, 4, index, out),
        LiteralKind::NeverIndexed => prefix_integer::append(0x10, 4, index, out),
    }
    if known.is_none() {
        append_string(name, out);
    }
    append_string(value, out);
}

/// The hash of a value, continued from that of its name, eight bytes at a time.
fn hash_value(name: u32, value: &[u8]) -> u32 {
    let mut hash = u64::from(name) ^ (value.len() as u64) << 32;
    let mut add = |word: u64| {
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    };
    let mut words = value.chunks_exact(8);
    for word in &mut words {
        add(word.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    }
    add(words.remainder().iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    (hash >> 32) as u32
}
