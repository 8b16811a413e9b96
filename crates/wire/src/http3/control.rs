//! Streams of a client that go one way (RFC 9114 §6.2): the control stream and those of QPACK.
//!
//! What they say has no effect here beyond the rules that it may break: no push, and no dynamic table, are ours.

use super::broken::{Broken, code};
use super::frames::{Begin, is_of_http2, kind};
use super::varint;

/// Bytes of a frame that are kept until it is whole; settings are a few numbers.
const MOST: u64 = 1024;

/// An instruction that sets the capacity of the dynamic table to nothing (RFC 9204 §4.3.1).
const NO_CAPACITY: u8 = 0x20;

/// The first bits of the instruction that cancels a stream (RFC 9204 §4.4.2); the others of the byte begin its number.
const CANCELLATION: u8 = 0b01;

/// A stream that goes one way, from its first byte.
#[derive(Debug)]
pub enum Uni {
    /// Its kind is not known yet; the number of it may come in pieces.
    Begin(Vec<u8>),
    /// The control stream.
    Control(Control),
    /// Instructions for a table that there is not.
    Encoder,
    /// What the client's decoder of our heads says.
    Decoder(Decoder),
    /// None of ours: it is not read any further.
    Unknown,
}

impl Uni {
    /// A stream that was just opened.
    pub fn new() -> Uni {
        Uni::Begin(Vec::new())
    }

    /// Takes what came of it.
    ///
    /// # Errors
    /// The rule that was broken.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Broken> {
        while let Uni::Begin(held) = self {
            let Some((&first, rest)) = bytes.split_first() else { return Ok(()) };
            bytes = rest;
            held.push(first);
            let Some((kind, _)) = varint::read(held) else { continue };
            *self = match kind {
                0 => Uni::Control(Control::default()),
                // Only servers push (RFC 9114 §6.2.2).
                1 => return Err(Broken::Connection(code::STREAM_CREATION_ERROR)),
                2 => Uni::Encoder,
                3 => Uni::Decoder(Decoder::default()),
                _ => Uni::Unknown,
            };
        }
        match self {
            Uni::Control(control) => control.feed(bytes),
            Uni::Decoder(decoder) => decoder.feed(bytes),
            Uni::Encoder if bytes.iter().any(|byte| *byte != NO_CAPACITY) => {
                Err(Broken::Connection(code::QPACK_ENCODER_STREAM_ERROR))
            }
            _ => Ok(()),
        }
    }

    /// Which of those it is of which a client has one at most; `None`: none of them.
    pub fn only_one(&self) -> Option<usize> {
        match self {
            Uni::Control(_) => Some(0),
            Uni::Encoder => Some(1),
            Uni::Decoder(_) => Some(2),
            Uni::Begin(_) | Uni::Unknown => None,
        }
    }
}

impl Default for Uni {
    fn default() -> Uni {
        Uni::new()
    }
}

/// Instructions of a decoder (RFC 9204 §4.4). Our heads need no dynamic table, so there is nothing to acknowledge: a
/// stream may be cancelled, and that is all.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The number of an instruction goes on in the next byte.
    continues: bool,
}

impl Decoder {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        for byte in bytes {
            if self.continues {
                self.continues = byte & 0x80 != 0;
            } else if byte >> 6 == CANCELLATION {
                self.continues = byte & 0x3f == 0x3f;
            } else {
                return Err(Broken::Connection(code::QPACK_DECODER_STREAM_ERROR));
            }
        }
        Ok(())
    }
}

/// The frames of a control stream (RFC 9114 §7.2.4).
#[derive(Debug, Default)]
pub struct Control {
    begin: Begin,
    now: Option<u64>,
    left: u64,
    held: Vec<u8>,
    settled: bool,
    /// The numbers that came last: of pushes that are still taken, which may only fall, and that are allowed.
    goes_away: Option<u64>,
    allows: Option<u64>,
}

impl Control {
    fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Broken> {
        loop {
            if self.now.is_none() {
                let (used, begun) = self.begin.feed(bytes);
                bytes = &bytes[used..];
                let Some((kind, length)) = begun else { return Ok(()) };
                self.enter(kind, length)?;
            }
            let Some(kind) = self.now else { continue };
            let n = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            if is_ours(kind) {
                self.held.extend_from_slice(&bytes[..n]);
            }
            bytes = &bytes[n..];
            self.left -= n as u64;
            if self.left > 0 {
                return Ok(());
            }
            self.now = None;
            self.whole(kind)?;
            self.held.clear();
        }
    }

    fn enter(&mut self, kind: u64, length: u64) -> Result<(), Broken> {
        if !self.settled && kind != kind::SETTINGS {
            return Err(Broken::Connection(code::MISSING_SETTINGS));
        }
        let misplaced = matches!(kind, kind::DATA | kind::HEADERS | kind::PUSH_PROMISE)
            || (kind == kind::SETTINGS && self.settled)
            || is_of_http2(kind);
        if misplaced {
            return Err(Broken::Connection(code::FRAME_UNEXPECTED));
        }
        if is_ours(kind) && length > MOST {
            return Err(Broken::Connection(code::EXCESSIVE_LOAD));
        }
        (self.now, self.left) = (Some(kind), length);
        Ok(())
    }

    fn whole(&mut self, kind: u64) -> Result<(), Broken> {
        match kind {
            kind::SETTINGS => {
                self.settled = true;
                settings(&self.held)
            }
            kind::GOAWAY => {
                let id = self.id()?;
                let raised = self.goes_away.replace(id).is_some_and(|before| id > before);
                if raised { Err(Broken::Connection(code::ID_ERROR)) } else { Ok(()) }
            }
            kind::MAX_PUSH_ID => {
                let id = self.id()?;
                let lowered = self.allows.replace(id).is_some_and(|before| id < before);
                if lowered { Err(Broken::Connection(code::ID_ERROR)) } else { Ok(()) }
            }
            // Nothing was promised that could be taken back (RFC 9114 §7.2.3).
            kind::CANCEL_PUSH => Err(Broken::Connection(code::ID_ERROR)),
            _ => Ok(()),
        }
    }

    /// The number that is all of a frame.
    fn id(&self) -> Result<u64, Broken> {
        match varint::read(&self.held) {
            Some((id, used)) if used == self.held.len() => Ok(id),
            _ => Err(Broken::Connection(code::FRAME_ERROR)),
        }
    }
}

fn is_ours(kind: u64) -> bool {
    matches!(kind, kind::SETTINGS | kind::GOAWAY | kind::MAX_PUSH_ID | kind::CANCEL_PUSH)
}

/// Looks at a client's settings (RFC 9114 §7.2.4.1); none of them changes what we send.
fn settings(mut bytes: &[u8]) -> Result<(), Broken> {
    let mut seen = Vec::new();
    while !bytes.is_empty() {
        let cut = Broken::Connection(code::FRAME_ERROR);
        let (name, used) = varint::read(bytes).ok_or(cut)?;
        let (_, more) = varint::read(&bytes[used..]).ok_or(cut)?;
        bytes = &bytes[used + more..];
        // Those of HTTP/2, and a number twice.
        if matches!(name, 2..=5) || seen.contains(&name) {
            return Err(Broken::Connection(code::SETTINGS_ERROR));
        }
        seen.push(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(bytes: &[u8]) -> Result<Option<usize>, u64> {
        let whole = |size: usize| {
            let mut uni = Uni::new();
            for piece in bytes.chunks(size) {
                match uni.feed(piece) {
                    Ok(()) => {}
                    Err(Broken::Connection(code)) => return Err(code),
                    Err(Broken::TooLarge) => unreachable!("heads are not here"),
                }
            }
            Ok(uni.only_one())
        };
        let at_once = whole(bytes.len().max(1));
        for size in 1..bytes.len() {
            assert_eq!(whole(size), at_once, "{bytes:?} in pieces of {size}");
        }
        at_once
    }

    #[test]
    fn streams_are_told_apart_and_held_to_their_rules() {
        type Row = (&'static [u8], Result<Option<usize>, u64>);
        let rows: [Row; 29] = [
            (&[], Ok(None)),
            (&[0x40], Ok(None)),
            (&[0, 4, 0], Ok(Some(0))),
            (&[0, 4, 2, 6, 5, 13, 1, 9, 7, 1, 0, 0x21, 3, 1, 2, 3], Ok(Some(0))),
            (&[0x40, 0, 4, 0], Ok(Some(0))),
            (&[0, 13, 1, 9], Err(code::MISSING_SETTINGS)),
            (&[0, 0x21, 0], Err(code::MISSING_SETTINGS)),
            (&[0, 4, 0, 4, 0], Err(code::FRAME_UNEXPECTED)),
            (&[0, 4, 0, 0, 0], Err(code::FRAME_UNEXPECTED)),
            (&[0, 4, 0, 9, 0], Err(code::FRAME_UNEXPECTED)),
            (&[0, 4, 0, 3, 1, 0], Err(code::ID_ERROR)),
            (&[0, 4, 0, 7, 2, 0, 0], Err(code::FRAME_ERROR)),
            (&[0, 4, 1, 6], Err(code::FRAME_ERROR)),
            (&[0, 4, 2, 2, 0], Err(code::SETTINGS_ERROR)),
            (&[0, 4, 4, 6, 0, 6, 0], Err(code::SETTINGS_ERROR)),
            (&[0, 4, 0x48, 0], Err(code::EXCESSIVE_LOAD)),
            (&[1], Err(code::STREAM_CREATION_ERROR)),
            (&[2, 0x20, 0x20], Ok(Some(1))),
            (&[2, 0x3f, 1], Err(code::QPACK_ENCODER_STREAM_ERROR)),
            (&[0, 4, 0, 7, 1, 9, 7, 1, 9, 7, 1, 4], Ok(Some(0))),
            (&[0, 4, 0, 7, 1, 4, 7, 1, 5], Err(code::ID_ERROR)),
            (&[0, 4, 0, 13, 1, 4, 13, 1, 4, 13, 1, 9], Ok(Some(0))),
            (&[0, 4, 0, 13, 1, 4, 13, 1, 3], Err(code::ID_ERROR)),
            (&[3, 0x44, 0x7f, 0x80, 0x80, 1, 0x40], Ok(Some(2))),
            (&[3, 0x44, 0x80], Err(code::QPACK_DECODER_STREAM_ERROR)),
            (&[3, 0x81], Err(code::QPACK_DECODER_STREAM_ERROR)),
            (&[3, 0], Err(code::QPACK_DECODER_STREAM_ERROR)),
            (&[3, 1], Err(code::QPACK_DECODER_STREAM_ERROR)),
            (&[3, 0x7f, 0x80, 1, 0x3f], Err(code::QPACK_DECODER_STREAM_ERROR)),
        ];
        for (bytes, wanted) in rows {
            assert_eq!(fed(bytes), wanted, "{bytes:?}");
        }
    }
}
