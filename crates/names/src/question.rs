//! Reads a query in one pass without allocating (RFC 1035 §4).
//!
//! `hickory-proto` reads the same for the tests. In the path of every query, its message with owned names would cost
//! more than the answer. `responder` decides the reply to a malformed query.

use super::domain::NAME_MAX;
use super::edns::EdnsOptions;

/// Bytes of a message's header.
/// RFC 1035 §4.1.1.
pub const HEAD: usize = 12;
/// Records that may follow the question: bounds the work for one query. OPT and a signature are usual.
pub const ADDITIONAL_MAX: u16 = 4;

#[derive(Clone, Debug)]
pub struct DnsQuestion<'q> {
    pub id: u16,
    pub flags: u16,
    /// The question section as in the message: name, type and class.
    pub section: &'q [u8],
    /// The record type in the question.
    pub kind: u16,
    pub class: u16,
    pub edns: Option<EdnsOptions>,
    name: [u8; NAME_MAX],
    length: usize,
}

/// Why a message cannot be answered as a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryError {
    /// Shorter than a header.
    Short,
    /// The message is an answer itself: a reply could start a loop.
    IsResponse,
    /// Another operation than a query.
    UnsupportedOpcode,
    /// The message is malformed.
    Malformed,
}

impl<'q> DnsQuestion<'q> {
    /// Reads a message.
    ///
    /// # Errors
    /// The reason. Except for `Short` and `IsResponse`, the header is complete, so that a reply is possible.
    pub fn read(bytes: &'q [u8]) -> Result<DnsQuestion<'q>, QueryError> {
        let (head, body) = bytes.split_at_checked(HEAD).ok_or(QueryError::Short)?;
        let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let id = word(0);
        let flags = word(2);
        if flags & 0x8000 != 0 {
            return Err(QueryError::IsResponse);
        }
        if flags & 0x7800 != 0 {
            return Err(QueryError::UnsupportedOpcode);
        }
        let questions = word(4);
        let answers = word(6);
        let authorities = word(8);
        let more = word(10);
        if questions != 1 || answers != 0 || authorities != 0 || more > ADDITIONAL_MAX {
            return Err(QueryError::Malformed);
        }
        let mut name = [0; NAME_MAX];
        let length = read_lowercase_name(body, &mut name).ok_or(QueryError::Malformed)?;
        let (section, rest) = body.split_at_checked(length + 4).ok_or(QueryError::Malformed)?;
        let kind = u16::from_be_bytes([section[length], section[length + 1]]);
        let class = u16::from_be_bytes([section[length + 2], section[length + 3]]);
        let edns = parse_additional(rest, more)?;
        Ok(DnsQuestion { id, flags, section, kind, class, edns, name, length })
    }

    /// The name in the question, lower-case.
    pub fn name(&self) -> &[u8] {
        &self.name[..self.length]
    }
}

/// Copies the name at the beginning of `bytes` in lower-case and returns its length. A compression pointer is an error:
/// there is no earlier name to point at.
fn read_lowercase_name(bytes: &[u8], name: &mut [u8; NAME_MAX]) -> Option<usize> {
    let mut at = 0;
    loop {
        let length = usize::from(*bytes.get(at)?);
        let end = at + 1 + length;
        if length > 63 || end > NAME_MAX {
            return None;
        }
        name[at] = length as u8;
        let from = bytes.get(at + 1..end)?;
        let to = name.get_mut(at + 1..end)?;
        for (to, from) in to.iter_mut().zip(from) {
            *to = from.to_ascii_lowercase();
        }
        at = end;
        if length == 0 {
            return Some(at);
        }
    }
}

/// Reads the records after the question; at most one is OPT, and no bytes may follow.
fn parse_additional(mut rest: &[u8], count: u16) -> Result<Option<EdnsOptions>, QueryError> {
    /// The type of the pseudo-record of EDNS (RFC 6891 §6.1.1).
    const OPT: u16 = 41;
    let mut edns = None;
    for _ in 0..count {
        let (root, after) = skip_name(rest).ok_or(QueryError::Malformed)?;
        let (fixed, after) = after.split_at_checked(10).ok_or(QueryError::Malformed)?;
        let length = usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
        let (data, after) = after.split_at_checked(length).ok_or(QueryError::Malformed)?;
        rest = after;
        if u16::from_be_bytes([fixed[0], fixed[1]]) != OPT {
            continue;
        }
        let class = u16::from_be_bytes([fixed[2], fixed[3]]);
        let ttl = u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
        // At most one OPT record, owned by the root (RFC 6891 §6.1.1).
        if !root || edns.is_some() {
            return Err(QueryError::Malformed);
        }
        edns = Some(EdnsOptions::read(class, ttl, data).ok_or(QueryError::Malformed)?);
    }
    if rest.is_empty() { Ok(edns) } else { Err(QueryError::Malformed) }
}

/// Skips a name. Returns whether it is the root, and the rest.
fn skip_name(bytes: &[u8]) -> Option<(bool, &[u8])> {
    let mut rest = bytes;
    loop {
        let (length, after) = rest.split_first()?;
        match length {
            0 => return Some((rest.len() == bytes.len(), after)),
            1..=63 => rest = after.get(usize::from(*length)..)?,
            0xc0.. => return Some((false, after.get(1..)?)),
            _ => return None,
        }
    }
}
