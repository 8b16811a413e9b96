//! Reassembles only the bytes of a stream that a decoder must read, from packets in any order; all others are skipped.
//!
//! Between heads nothing is stored, so bodies need no memory. Early packets are stored up to a limit. Needed bytes that
//! can no longer arrive are reported as lost.

use crate::ranges::OffsetRange;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeStep {
    /// Something was read; there may be more.
    Advanced,
    /// More bytes must come.
    Wait,
    /// It cannot be understood, or needed bytes were not captured.
    Unreadable,
}

/// Bytes of a head that are put together at most.
/// Servers refuse heads of more than 8 to 64 KiB.
const MAX_HEAD: usize = 64 << 10;
/// Early packets that are stored at most.
const MAX_OUT_OF_ORDER: usize = 64;
/// Bounds the memory of one connection whose segments arrive out of order.
const MAX_OUT_OF_ORDER_BYTES: usize = 96 << 10;

/// A packet's payload that came before bytes in front of it.
#[derive(Clone, Debug)]
pub struct EarlyPayload {
    /// Offset of its first byte.
    pub from: i64,
    /// Its bytes on the wire.
    length: u32,
    /// The bytes of it that were captured.
    pub captured: Box<[u8]>,
}

/// The bytes that the decoder needs next.
#[derive(Clone, Debug)]
pub struct StreamBuffer {
    /// Offset of `have`'s first byte.
    offset: i64,
    buffered: Vec<u8>,
    out_of_order: Vec<EarlyPayload>,
    /// The range of bytes that passed without being stored.
    dropped_range: Option<OffsetRange>,
    incomplete: bool,
}

impl StreamBuffer {
    /// Bytes from this offset on.
    pub fn starting_at(offset: i64) -> StreamBuffer {
        StreamBuffer {
            offset,
            buffered: Vec::new(),
            out_of_order: Vec::new(),
            dropped_range: None,
            incomplete: false,
        }
    }

    /// Offset of the next byte that is needed and not here.
    pub fn offset(&self) -> i64 {
        self.offset + self.buffered.len() as i64
    }

    /// Offset of the first byte of `bytes`.
    pub fn start(&self) -> i64 {
        self.offset
    }

    /// The available bytes in one piece.
    pub fn bytes(&self) -> &[u8] {
        &self.buffered
    }

    /// Takes the packets that wait for bytes before them, in the order of the stream.
    pub fn take_early(&mut self) -> Vec<EarlyPayload> {
        let mut early = std::mem::take(&mut self.out_of_order);
        early.sort_by_key(|payload| payload.from);
        early
    }

    /// Adds a packet's payload; `length`: its length on the wire.
    pub fn add_payload(&mut self, from: i64, payload: &[u8], length: u32) {
        self.append_payload(from, payload, length);
        while let Some(at) = self.out_of_order.iter().position(|early| early.from <= self.offset())
        {
            let early = self.out_of_order.swap_remove(at);
            self.append_payload(early.from, &early.captured, early.length);
        }
    }

    fn append_payload(&mut self, from: i64, payload: &[u8], length: u32) {
        let need = self.offset();
        if from > need {
            let bytes: usize = self.out_of_order.iter().map(|early| early.captured.len()).sum();
            if self.out_of_order.len() < MAX_OUT_OF_ORDER
                && bytes + payload.len() <= MAX_OUT_OF_ORDER_BYTES
            {
                self.out_of_order.push(EarlyPayload { from, length, captured: payload.into() });
            } else {
                let to = from + i64::from(length);
                let missed = self.dropped_range.get_or_insert(OffsetRange { from, to });
                missed.from = missed.from.min(from);
                missed.to = missed.to.max(to);
            }
            return;
        }
        let skip = usize::try_from(need - from).unwrap_or(usize::MAX);
        if skip >= length as usize {
            return;
        }
        let Some(bytes) = payload.get(skip..) else {
            self.incomplete = true;
            return;
        };
        let room = MAX_HEAD.saturating_sub(self.buffered.len());
        let cut = bytes.len().min(room);
        self.buffered.extend_from_slice(&bytes[..cut]);
        if payload.len() < length as usize || cut < bytes.len() {
            let to = from + i64::from(length);
            let to = self.dropped_range.map_or(to, |missed| missed.to.max(to));
            self.dropped_range = Some(OffsetRange { from: self.offset(), to });
        }
    }

    /// Skips the bytes before `offset`, which are not needed.
    pub fn skip_to(&mut self, offset: i64) {
        let drop = usize::try_from(offset - self.offset).unwrap_or(0);
        if drop < self.buffered.len() {
            self.buffered.drain(..drop);
        } else {
            self.buffered.clear();
        }
        self.offset = offset;
        if self.dropped_range.is_some_and(|missed| missed.to <= self.offset()) {
            self.dropped_range = None;
        }
        self.add_payload(self.offset(), &[], 0);
    }

    /// Whether more bytes can arrive: not when the next byte passed without being stored.
    pub fn wait_step(&self) -> DecodeStep {
        let next = self.offset();
        let gone = self.dropped_range.is_some_and(|missed| missed.from <= next && next < missed.to);
        if self.incomplete || gone || self.buffered.len() >= MAX_HEAD {
            DecodeStep::Unreadable
        } else {
            DecodeStep::Wait
        }
    }
}
