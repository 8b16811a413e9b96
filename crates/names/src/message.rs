//! An answer's bytes, section by section, within a size limit. It decides nothing.

use super::edns::EdnsOptions;
use super::question::{DnsQuestion, HEAD};
use super::record::IN;

/// QR: this is a response.
const RESPONSE_FLAG: u16 = 0x8000;
/// AA: we are authoritative for the name.
const AUTHORITATIVE: u16 = 0x0400;
/// TC: not all records did fit.
const TRUNCATED: u16 = 0x0200;
/// Copied from the query: RD and CD (RFC 1035 §4.1.1, RFC 4035 §3.1.6).
const COPIED: u16 = 0x0110;

/// Bytes of our OPT record without options.
/// Root name, type, size, extended code, version and flags, length (RFC 6891 §6.1.2).
pub const OPT: usize = 11;

#[derive(Debug)]
pub struct MessageWriter<'o> {
    out: &'o mut Vec<u8>,
    /// Bytes that the sections may fill.
    room: usize,
    counts: [u16; 3],
    section: usize,
}

/// The position and length of a name in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerName {
    at: usize,
    length: usize,
}

impl OwnerName {
    /// The name in the question.
    pub fn for_question(length: usize) -> OwnerName {
        OwnerName { at: HEAD, length }
    }

    /// The last `length` bytes of that name: an ancestor.
    pub fn ancestor(self, length: usize) -> OwnerName {
        OwnerName { at: self.at + self.length.saturating_sub(length), length }
    }

    fn pointer(self) -> [u8; 2] {
        // Compression pointers reach the first 16 KiB. Owner names are written while the message is far smaller.
        let at = u16::try_from(self.at).unwrap_or(HEAD as u16) & 0x3fff;
        (0xc000 | at).to_be_bytes()
    }
}

impl<'o> MessageWriter<'o> {
    /// Starts a message with the question.
    pub fn new(out: &'o mut Vec<u8>, question: &DnsQuestion<'_>, room: usize) -> MessageWriter<'o> {
        out.clear();
        out.extend(question.id.to_be_bytes());
        out.extend([0; 10]);
        out.extend_from_slice(question.section);
        MessageWriter { out, room, counts: [0; 3], section: 0 }
    }

    /// Later records belong to the authority section.
    pub fn begin_authority(&mut self) {
        self.section = 1;
    }

    /// Later records belong to the additional section.
    pub fn begin_additional(&mut self) {
        self.section = 2;
    }

    /// Appends a record made for the question's name under this owner. Returns false where it does not fit.
    #[inline]
    pub fn write_prepared(&mut self, owner: OwnerName, record: &[u8]) -> bool {
        if self.out.len() + record.len() > self.room {
            return false;
        }
        let at = self.out.len();
        self.out.extend_from_slice(record);
        if let Some(pointer) = self.out.get_mut(at..at + 2) {
            pointer.copy_from_slice(&owner.pointer());
        }
        self.counts[self.section] += 1;
        true
    }

    /// Appends a record and returns the position of its data. `None`: it does not fit.
    pub fn write_record(
        &mut self,
        owner: OwnerName,
        kind: u16,
        ttl: u32,
        data: &[u8],
    ) -> Option<OwnerName> {
        if self.out.len() + 12 + data.len() > self.room {
            return None;
        }
        self.out.extend(owner.pointer());
        self.out.extend(kind.to_be_bytes());
        self.out.extend(IN.to_be_bytes());
        self.out.extend(ttl.to_be_bytes());
        self.out.extend((data.len() as u16).to_be_bytes());
        let at = self.out.len();
        self.out.extend_from_slice(data);
        self.counts[self.section] += 1;
        Some(OwnerName { at, length: data.len() })
    }

    /// Appends the record under a name one label below `above`. Returns false where it does not fit.
    pub fn write_child(&mut self, label: &[u8], above: OwnerName, record: &[u8]) -> bool {
        let rest = record.get(2..).unwrap_or_default();
        if self.out.len() + label.len() + 2 + rest.len() > self.room {
            return false;
        }
        self.out.extend_from_slice(label);
        self.out.extend(above.pointer());
        self.out.extend_from_slice(rest);
        self.counts[self.section] += 1;
        true
    }

    /// Removes everything after the question.
    pub fn truncate(&mut self, question: &DnsQuestion<'_>) {
        self.out.truncate(HEAD + question.section.len());
        self.counts = [0; 3];
    }

    /// Writes the header, and OPT with its options, for which space was reserved.
    pub fn finish(
        mut self,
        query_flags: u16,
        code: u16,
        authoritative: bool,
        truncated: bool,
        opt: Option<OptRecord<'_>>,
    ) {
        if let Some(OptRecord { edns, size, options }) = opt {
            self.out.extend([0, 0, 41]);
            self.out.extend(size.to_be_bytes());
            let flags = if edns.dnssec_ok { 0x80 } else { 0 };
            self.out.extend([(code >> 4) as u8, 0, flags, 0]);
            self.out.extend((options.len() as u16).to_be_bytes());
            self.out.extend_from_slice(options);
            self.counts[2] += 1;
        }
        let mut flags = RESPONSE_FLAG | (query_flags & COPIED) | (code & 15);
        flags |= if authoritative { AUTHORITATIVE } else { 0 };
        flags |= if truncated { TRUNCATED } else { 0 };
        let [answers, authorities, more] = self.counts;
        let words = [flags, 1, answers, authorities, more];
        for (place, word) in self.out[2..HEAD].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }
}

/// The contents of the OPT record of an answer.
#[derive(Clone, Copy, Debug)]
pub struct OptRecord<'a> {
    /// What the query's OPT record said.
    pub edns: &'a EdnsOptions,
    /// The largest message over UDP that the server reads, bytes.
    pub size: u16,
    /// Options in the form of the message.
    pub options: &'a [u8],
}

/// Writes a header-only answer to bytes that are no readable query.
pub fn write_bare(query: &[u8], code: u16, out: &mut Vec<u8>) {
    out.clear();
    let Some(head) = query.get(..HEAD) else { return };
    let query_flags = u16::from_be_bytes([head[2], head[3]]);
    // The response has the opcode and the copied flags of the query.
    let flags = RESPONSE_FLAG | (query_flags & (0x7800 | COPIED)) | (code & 15);
    out.extend([head[0], head[1]]);
    out.extend(flags.to_be_bytes());
    out.extend([0; 8]);
}
