//! The bytes of a stream that somebody must read, put together from packets in any order; all others pass by.
//!
//! Between heads nothing is kept, so that bodies cost nothing. What comes early is kept up to a limit; bytes that are
//! needed and cannot be had any more are known to be lost.

/// What reading found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something was read; there may be more.
    More,
    /// More bytes must come.
    Wait,
    /// It cannot be understood, or needed bytes were not captured.
    Lost,
}

/// Bytes of a head that are put together at most.
const MAX_HEAD: usize = 64 << 10;
/// Packets that came early and are kept.
const MAX_EARLY: usize = 64;
/// Bytes of theirs.
const MAX_EARLY_BYTES: usize = 96 << 10;

/// What is needed next.
#[derive(Debug)]
pub struct Need {
    /// Offset of `have`'s first byte.
    offset: i64,
    have: Vec<u8>,
    early: Vec<(i64, u32, Box<[u8]>)>,
    /// Where bytes begin and end that came and were not kept.
    missed: Option<(i64, i64)>,
    lost: bool,
}

impl Need {
    /// Bytes from this offset on.
    pub fn at(offset: i64) -> Need {
        Need { offset, have: Vec::new(), early: Vec::new(), missed: None, lost: false }
    }

    /// Offset of the next byte that is needed and not here.
    pub fn offset(&self) -> i64 {
        self.offset + self.have.len() as i64
    }

    /// Offset of the first byte of `bytes`.
    pub fn start(&self) -> i64 {
        self.offset
    }

    /// What is here, in one piece.
    pub fn bytes(&self) -> &[u8] {
        &self.have
    }

    /// Offers a packet's payload; `length`: what it was on the wire.
    pub fn offer(&mut self, from: i64, payload: &[u8], length: u32) {
        self.add(from, payload, length);
        while let Some(at) = self.early.iter().position(|(from, ..)| *from <= self.offset()) {
            let (from, length, payload) = self.early.swap_remove(at);
            self.add(from, &payload, length);
        }
    }

    fn add(&mut self, from: i64, payload: &[u8], length: u32) {
        let need = self.offset();
        if from > need {
            let bytes: usize = self.early.iter().map(|(.., bytes)| bytes.len()).sum();
            if self.early.len() < MAX_EARLY && bytes + payload.len() <= MAX_EARLY_BYTES {
                self.early.push((from, length, payload.into()));
            } else {
                let to = from + i64::from(length);
                let missed = self.missed.get_or_insert((from, to));
                *missed = (missed.0.min(from), missed.1.max(to));
            }
            return;
        }
        let skip = usize::try_from(need - from).unwrap_or(usize::MAX);
        if skip >= length as usize {
            return;
        }
        let Some(bytes) = payload.get(skip..) else {
            self.lost = true;
            return;
        };
        let room = MAX_HEAD.saturating_sub(self.have.len());
        let cut = bytes.len().min(room);
        self.have.extend_from_slice(&bytes[..cut]);
        if payload.len() < length as usize || cut < bytes.len() {
            let to = from + i64::from(length);
            self.missed = Some((self.offset(), self.missed.map_or(to, |missed| missed.1.max(to))));
        }
    }

    /// Nothing before `offset` is needed any more.
    pub fn skip_to(&mut self, offset: i64) {
        let drop = usize::try_from(offset - self.offset).unwrap_or(0);
        if drop < self.have.len() {
            self.have.drain(..drop);
        } else {
            self.have.clear();
        }
        self.offset = offset;
        if self.missed.is_some_and(|(_, to)| to <= self.offset()) {
            self.missed = None;
        }
        self.offer(self.offset(), &[], 0);
    }

    /// Whether more can be awaited: not, when the next byte passed without being kept.
    pub fn wait(&self) -> Step {
        let next = self.offset();
        let gone = self.missed.is_some_and(|(from, to)| from <= next && next < to);
        if self.lost || gone || self.have.len() >= MAX_HEAD { Step::Lost } else { Step::Wait }
    }
}
