//! pcapng files: several sections, interfaces and their clocks, and blocks that are unknown.
//!
//! Source: draft-ietf-opsawg-pcapng. Names, secrets and comments are skipped.

use std::io::Read;

use super::blocks::{BlockReader, MAX_RECORD};
use super::frame::{CaptureDamage, CapturedFrame};
use crate::bytes::{u16_at, u32_at};

#[derive(Debug, Default)]
pub struct PcapngReader {
    big: bool,
    interfaces: Vec<CaptureInterface>,
    drops: u64,
    snaplen: u32,
    last_ns: i64,
}

#[derive(Clone, Copy, Debug)]
struct CaptureInterface {
    link: u16,
    snaplen: u32,
    clock: TimestampClock,
    drops: u64,
}

/// How an interface's timestamps count.
#[derive(Clone, Copy, Debug)]
struct TimestampClock {
    /// Units in a second.
    per_second: u64,
    offset: i64,
}

/// Types of blocks (draft-ietf-opsawg-pcapng, section 4); 2 is obsolete, and old files have it.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED: u32 = 6;

/// The byte-order magic of a section header, as its writer's byte order has it.
const ORDER: u32 = 0x1a2b_3c4d;
/// Type and length before a block's body, and the length repeated behind it.
const AROUND: usize = 12;
/// Interfaces of a section that are stored; more are treated as damage.
const MAX_INTERFACES: usize = 65_536;

/// Options of interfaces and of their statistics (the same draft).
const OPTION_DROPS: u16 = 5;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;

struct PcapngBlock {
    kind: u32,
    length: usize,
    offset: u64,
}

impl PcapngReader {
    /// Expects the header of a section.
    pub fn open<R: Read>(blocks: &mut BlockReader<R>) -> Result<PcapngReader, CaptureDamage> {
        blocks.ensure(4)?;
        let first = blocks.peek(4);
        if u32_at(first, 0, true) != SECTION {
            let mut found = [0; 4];
            found[..first.len()].copy_from_slice(first);
            return Err(CaptureDamage::NoCapture { found });
        }
        Ok(PcapngReader::default())
    }

    /// Packets that the interfaces report as lost.
    pub fn drops(&self) -> u64 {
        self.drops + self.interfaces.iter().map(|interface| interface.drops).sum::<u64>()
    }

    /// The largest of any interface.
    pub fn snaplen(&self) -> u32 {
        self.snaplen
    }

    pub fn next<'b, R: Read>(
        &mut self,
        blocks: &'b mut BlockReader<R>,
    ) -> Result<Option<CapturedFrame<'b>>, CaptureDamage> {
        loop {
            let Some(block) = self.block(blocks)? else { return Ok(None) };
            let body = &blocks.peek(block.length)[8..block.length - 4];
            match block.kind {
                SECTION => {
                    self.drops = self.drops();
                    self.interfaces.clear();
                }
                INTERFACE => self.interface(body, block.offset)?,
                STATISTICS => self.statistics(body),
                ENHANCED | PACKET | SIMPLE => {
                    let head = self.packet(&block, body)?;
                    let block = blocks.consume(block.length);
                    let bytes = &block[8 + head.from..8 + head.from + head.captured_len];
                    let PacketBlockHeader { time_ns, link, original_len, .. } = head;
                    return Ok(Some(CapturedFrame { time_ns, link, bytes, original_len }));
                }
                _ => {}
            }
            blocks.consume(block.length);
        }
    }

    /// Looks at the next block, all of which is there afterwards.
    fn block<R: Read>(
        &mut self,
        blocks: &mut BlockReader<R>,
    ) -> Result<Option<PcapngBlock>, CaptureDamage> {
        let offset = blocks.offset();
        if !blocks.ensure(AROUND)? {
            return if blocks.is_at_end()? {
                Ok(None)
            } else {
                Err(CaptureDamage::Truncated { offset })
            };
        }
        let head = blocks.peek(AROUND);
        if u32_at(head, 0, true) == SECTION {
            self.big = u32_at(head, 8, true) == ORDER;
            if !self.big && u32_at(head, 8, false) != ORDER {
                let mut found = [0; 4];
                found.copy_from_slice(&head[8..12]);
                return Err(CaptureDamage::NoCapture { found });
            }
        }
        let kind = u32_at(head, 0, self.big);
        let length = u32_at(head, 4, self.big);
        let least = if kind == SECTION { 28 } else { AROUND };
        if (length as usize) < least || length as usize > MAX_RECORD || !length.is_multiple_of(4) {
            let expected = "a multiple of 4 between 12 (28 for a section) and 4 MiB";
            return Err(CaptureDamage::Length { offset, found: u64::from(length), expected });
        }
        if !blocks.ensure(length as usize)? {
            return Err(CaptureDamage::Truncated { offset });
        }
        Ok(Some(PcapngBlock { kind, length: length as usize, offset }))
    }

    fn interface(&mut self, body: &[u8], offset: u64) -> Result<(), CaptureDamage> {
        if body.len() < 8 || self.interfaces.len() >= MAX_INTERFACES {
            let expected = "at least 20, and at most 65536 interfaces in a section";
            return Err(CaptureDamage::Length { offset, found: body.len() as u64 + 12, expected });
        }
        let mut clock = TimestampClock { per_second: 1_000_000, offset: 0 };
        for (code, value) in options(&body[8..], self.big) {
            match (code, value) {
                (OPTION_RESOLUTION, [power, ..]) => clock.per_second = per_second(*power),
                (OPTION_OFFSET, value) if value.len() >= 8 => {
                    let a = u32_at(value, 0, self.big);
                    let b = u32_at(value, 4, self.big);
                    let (high, low) = if self.big { (a, b) } else { (b, a) };
                    clock.offset = ((u64::from(high) << 32) | u64::from(low)).cast_signed();
                }
                _ => {}
            }
        }
        let link = u16_at(body, 0, self.big);
        let snaplen = u32_at(body, 4, self.big);
        self.snaplen = self.snaplen.max(snaplen);
        self.interfaces.push(CaptureInterface { link, snaplen, clock, drops: 0 });
        Ok(())
    }

    /// Counters of an interface are running totals: the last one counts.
    fn statistics(&mut self, body: &[u8]) {
        let number = u32_at(body, 0, self.big) as usize;
        let Some(interface) = self.interfaces.get_mut(number) else { return };
        for (code, value) in options(body.get(12..).unwrap_or_default(), self.big) {
            if code == OPTION_DROPS && value.len() >= 8 {
                let a = u32_at(value, 0, self.big);
                let b = u32_at(value, 4, self.big);
                let (high, low) = if self.big { (a, b) } else { (b, a) };
                interface.drops = (u64::from(high) << 32) | u64::from(low);
            }
        }
    }

    fn packet(
        &mut self,
        block: &PcapngBlock,
        body: &[u8],
    ) -> Result<PacketBlockHeader, CaptureDamage> {
        let big = self.big;
        let field = |at| u32_at(body, at, big);
        let offset = block.offset;
        let (number, fixed) = match block.kind {
            ENHANCED => (field(0), 20),
            PACKET => (u32::from(u16_at(body, 0, big)), 20),
            _ => (0, 4),
        };
        let found = block.length as u64;
        if body.len() < fixed {
            return Err(CaptureDamage::Length {
                offset,
                found,
                expected: "room for its fixed part",
            });
        }
        let Some(interface) = self.interfaces.get(number as usize).copied() else {
            return Err(CaptureDamage::Interface { offset, interface: number });
        };
        let simple = block.kind == SIMPLE;
        let original_len = if simple { field(0) } else { field(16) };
        let captured_length = if simple {
            let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
            (original_len.min(limit) as usize).min(body.len() - fixed)
        } else {
            field(12) as usize
        };
        if captured_length > body.len() - fixed {
            return Err(CaptureDamage::Length {
                offset,
                found,
                expected: "room for the packet it holds",
            });
        }
        // A simple packet block has no timestamp.
        if !simple {
            self.last_ns = interface.clock.nanoseconds(field(4), field(8));
        }
        Ok(PacketBlockHeader {
            time_ns: self.last_ns,
            link: interface.link,
            original_len,
            from: fixed,
            captured_len: captured_length,
        })
    }
}

struct PacketBlockHeader {
    time_ns: i64,
    link: u16,
    original_len: u32,
    from: usize,
    captured_len: usize,
}

impl TimestampClock {
    fn nanoseconds(self, high: u32, low: u32) -> i64 {
        let micro = self.per_second == 1_000_000 && high < 0x4000_0000;
        if micro {
            // By far the most files; a division of 128 bits for each packet would show.
            let units = (i64::from(high) << 32) | i64::from(low);
            return units.saturating_mul(1_000).saturating_add(self.offset_ns());
        }
        let units = (u128::from(high) << 32) | u128::from(low);
        let nanoseconds = units * 1_000_000_000 / u128::from(self.per_second);
        let nanoseconds = i64::try_from(nanoseconds).unwrap_or(i64::MAX);
        nanoseconds.saturating_add(self.offset_ns())
    }

    fn offset_ns(self) -> i64 {
        self.offset.saturating_mul(1_000_000_000)
    }
}

/// Units of a second for the option if_tsresol: a negative power of ten, or of two if the highest bit is set.
fn per_second(power: u8) -> u64 {
    let (base, exponent) = if power & 0x80 == 0 { (10, power) } else { (2, power & 0x7f) };
    u64::checked_pow(base, u32::from(exponent)).unwrap_or(u64::MAX)
}

/// Options of a block: codes and values, up to the end mark or the first that does not fit.
fn options(mut bytes: &[u8], big: bool) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        if bytes.len() < 4 {
            return None;
        }
        let code = u16_at(bytes, 0, big);
        let length = usize::from(u16_at(bytes, 2, big));
        let value = bytes.get(4..4 + length)?;
        bytes = bytes.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        (code != 0).then_some((code, value))
    })
}
