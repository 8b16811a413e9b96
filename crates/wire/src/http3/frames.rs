//! The frames of a request's stream (RFC 9114 §4.1, §7.1): its head, the pieces of its body, its trailers.
//!
//! Heads are kept until they are whole, up to a limit; bodies are not kept; what is unknown is passed over.

use super::broken::{Broken, code};
use super::varint;

/// What frames are called (RFC 9114 §7.2).
pub(super) mod kind {
    pub(crate) const DATA: u64 = 0;
    pub(crate) const HEADERS: u64 = 1;
    pub(crate) const CANCEL_PUSH: u64 = 3;
    pub(crate) const SETTINGS: u64 = 4;
    pub(crate) const PUSH_PROMISE: u64 = 5;
    pub(crate) const GOAWAY: u64 = 7;
    pub(crate) const MAX_PUSH_ID: u64 = 13;
}

/// The longest head of a frame: two numbers of eight bytes.
const HEAD: usize = 16;

/// Whether this is the number of a frame of HTTP/2 that HTTP/3 does not have (RFC 9114 §7.2.8).
pub(super) fn is_of_http2(kind: u64) -> bool {
    matches!(kind, 2 | 6 | 8 | 9)
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing whole: more is needed.
    More,
    /// The head is whole: `take_block` has it.
    Head,
    /// The trailers are whole: `take_block` has them.
    Trailers,
    /// So many bytes of a body lie at the end of what was used.
    Data(usize),
}

/// The head of a frame as it comes.
#[derive(Debug, Default)]
pub(super) struct Begin {
    kept: [u8; HEAD],
    have: usize,
}

impl Begin {
    /// Takes bytes; how many were used, and kind and length once they are known.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> (usize, Option<(u64, u64)>) {
        for (at, &byte) in bytes.iter().enumerate() {
            // Sixteen bytes hold any two numbers, so that there is room.
            self.kept[self.have] = byte;
            self.have += 1;
            let have = &self.kept[..self.have];
            let Some((kind, used)) = varint::read(have) else { continue };
            let Some((length, _)) = varint::read(&have[used..]) else { continue };
            self.have = 0;
            return (at + 1, Some((kind, length)));
        }
        (bytes.len(), None)
    }

    /// Whether a part of a head came.
    pub(super) fn is_begun(&self) -> bool {
        self.have > 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Nothing,
    Data,
    Block,
    Skipped,
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Head,
    Body,
    Over,
}

/// The frames of one stream.
#[derive(Debug)]
pub struct Frames {
    begin: Begin,
    within: Within,
    left: u64,
    stage: Stage,
    block: Vec<u8>,
    most: usize,
}

impl Frames {
    /// Of a stream whose head may have `most` bytes as it is coded.
    pub fn new(most: usize) -> Frames {
        let (begin, block) = (Begin::default(), Vec::new());
        Frames { begin, within: Within::Nothing, left: 0, stage: Stage::Head, block, most }
    }

    /// Takes what came; how much of it was used, and what that was.
    ///
    /// # Errors
    /// The rule that was broken.
    pub fn step(&mut self, bytes: &[u8]) -> Result<(usize, Step), Broken> {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            if self.within == Within::Nothing {
                let (n, begun) = self.begin.feed(rest);
                used += n;
                let Some((kind, length)) = begun else { return Ok((used, Step::More)) };
                self.enter(kind, length)?;
            }
            let rest = &bytes[used..];
            let n = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len());
            used += n;
            self.left -= n as u64;
            let (within, over) = (self.within, self.left == 0);
            if over {
                self.within = Within::Nothing;
            }
            match within {
                Within::Data if n > 0 => return Ok((used, Step::Data(n))),
                Within::Block => {
                    self.block.extend_from_slice(&rest[..n]);
                    if over {
                        return Ok((used, self.block_is_whole()));
                    }
                }
                _ => {}
            }
            if used == bytes.len() {
                return Ok((used, Step::More));
            }
        }
    }

    fn block_is_whole(&mut self) -> Step {
        let (next, step) = match self.stage {
            Stage::Head => (Stage::Body, Step::Head),
            _ => (Stage::Over, Step::Trailers),
        };
        self.stage = next;
        step
    }

    fn enter(&mut self, kind: u64, length: u64) -> Result<(), Broken> {
        self.left = length;
        self.within = match (kind, self.stage) {
            (kind::HEADERS, Stage::Head | Stage::Body) => {
                if length > self.most as u64 {
                    return Err(Broken::TooLarge);
                }
                Within::Block
            }
            (kind::DATA, Stage::Body) => Within::Data,
            (kind::DATA | kind::HEADERS | kind::CANCEL_PUSH | kind::SETTINGS, _)
            | (kind::PUSH_PROMISE | kind::GOAWAY | kind::MAX_PUSH_ID, _) => {
                return Err(Broken::Connection(code::FRAME_UNEXPECTED));
            }
            (kind, _) if is_of_http2(kind) => {
                return Err(Broken::Connection(code::FRAME_UNEXPECTED));
            }
            _ => Within::Skipped,
        };
        if length == 0 && self.within == Within::Skipped {
            self.within = Within::Nothing;
        }
        Ok(())
    }

    /// The head or the trailers that are whole.
    pub fn take_block(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.block)
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// It ended in the middle of a frame (RFC 9114 §7.1).
    pub fn end(&self) -> Result<(), Broken> {
        match self.within == Within::Nothing && !self.begin.is_begun() {
            true => Ok(()),
            false => Err(Broken::Connection(code::FRAME_ERROR)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        varint::write(kind, &mut out);
        varint::write(payload.len() as u64, &mut out);
        out.extend_from_slice(payload);
        out
    }

    type Told = (Vec<u8>, Vec<u8>, Vec<u8>);

    fn told(pieces: &[&[u8]], most: usize) -> Result<Told, Broken> {
        let (mut head, mut body, mut trailers) = (Vec::new(), Vec::new(), Vec::new());
        let mut frames = Frames::new(most);
        for piece in pieces {
            let mut at = 0;
            while at < piece.len() {
                let (used, step) = frames.step(&piece[at..])?;
                at += used;
                match step {
                    Step::More => {}
                    Step::Head => head = frames.take_block(),
                    Step::Trailers => trailers = frames.take_block(),
                    Step::Data(n) => body.extend_from_slice(&piece[at - n..at]),
                }
            }
        }
        frames.end()?;
        Ok((head, body, trailers))
    }

    #[test]
    fn a_request_is_told_however_its_bytes_come() {
        let whole = [
            frame(0x21, b"passed over"),
            frame(0x21, b""),
            frame(1, b"head"),
            frame(0, b"some"),
            frame(0, b""),
            frame(0x1f * 7 + 0x21, &[9; 100]),
            frame(0, b"body"),
            frame(1, b"trailers"),
            frame(0x21, b"x"),
        ]
        .concat();
        let wanted = (b"head".to_vec(), b"somebody".to_vec(), b"trailers".to_vec());
        for size in 1..whole.len() {
            let pieces: Vec<&[u8]> = whole.chunks(size).collect();
            assert_eq!(told(&pieces, 8), Ok(wanted.clone()), "in pieces of {size}");
        }
        assert_eq!(told(&[&frame(1, b""), &frame(1, b"")], 8), Ok(Default::default()));
    }

    #[test]
    fn what_may_not_be_is_named() {
        let unexpected = Err(Broken::Connection(code::FRAME_UNEXPECTED));
        let head = frame(1, b"head");
        for kind in [0, 2, 3, 4, 5, 6, 7, 8, 9, 13] {
            assert_eq!(told(&[&frame(kind, b"x")], 8), unexpected, "{kind} first");
        }
        for kind in [2, 3, 4, 5, 6, 7, 8, 9, 13] {
            assert_eq!(told(&[&head, &frame(kind, b"x")], 8), unexpected, "{kind} behind");
        }
        for kind in [0, 1] {
            assert_eq!(told(&[&head, &head, &frame(kind, b"x")], 8), unexpected, "{kind} last");
        }
        assert_eq!(told(&[&frame(1, b"too large")], 8), Err(Broken::TooLarge));
        let cut = Err(Broken::Connection(code::FRAME_ERROR));
        let data = [head, frame(0, b"body")].concat();
        assert_eq!(told(&[&data[..data.len() - 1]], 8), cut, "in the middle of a body");
        assert_eq!(told(&[&data[..data.len() - 4]], 8), cut, "before its first byte");
        assert_eq!(told(&[&data[..data.len() - 5]], 8), cut, "in a frame's head");
        assert_eq!(told(&[&data[..3]], 8), cut, "in the middle of a head");
    }
}
