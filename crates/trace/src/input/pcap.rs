//! Classic pcap files: both byte orders, microseconds and nanoseconds.
//!
//! Source: draft-ietf-opsawg-pcap. It does not read pcapng.

use std::io::Read;

use super::blocks::{BlockReader, MAX_RECORD};
use super::frame::{CaptureDamage, CapturedFrame};
use crate::bytes::{u16_at, u32_at};

/// A file header's facts.
#[derive(Debug)]
pub struct PcapReader {
    big: bool,
    /// Nanoseconds in one unit of the fraction.
    unit_ns: i64,
    snaplen: u32,
    link: u16,
    /// Minor version: before 2.3 the two lengths of a record were the other way round, and in 2.3 for some programs.
    minor: u16,
}

/// Bytes of the file header and of a packet record's header (draft-ietf-opsawg-pcap, sections 4 and 5).
const HEADER: usize = 24;
const RECORD: usize = 16;

impl PcapReader {
    /// Reads the header. `None` for another format; then no byte is consumed.
    pub fn open<R: Read>(blocks: &mut BlockReader<R>) -> Result<Option<PcapReader>, CaptureDamage> {
        if !blocks.ensure(4)? {
            let mut found = [0; 4];
            let all = blocks.peek(4);
            found[..all.len()].copy_from_slice(all);
            return Err(CaptureDamage::NoCapture { found });
        }
        let magic = blocks.peek(4);
        // 34cd: records of the modified format of an old libpcap carry eight more bytes and are not accepted.
        let (big, unit_ns) = match (u32_at(magic, 0, false), u32_at(magic, 0, true)) {
            (0xa1b2_c3d4, _) => (false, 1_000),
            (0xa1b2_3c4d, _) => (false, 1),
            (_, 0xa1b2_c3d4) => (true, 1_000),
            (_, 0xa1b2_3c4d) => (true, 1),
            _ => return Ok(None),
        };
        if !blocks.ensure(HEADER)? {
            return Err(CaptureDamage::Truncated { offset: 0 });
        }
        let header = blocks.consume(HEADER);
        // The upper half of the link type describes frame check sequences, which are not used here.
        let link = u16_at(header, if big { 22 } else { 20 }, big);
        let minor = u16_at(header, 6, big);
        Ok(Some(PcapReader { big, unit_ns, snaplen: u32_at(header, 16, big), link, minor }))
    }

    #[inline]
    pub fn next<'b, R: Read>(
        &mut self,
        blocks: &'b mut BlockReader<R>,
    ) -> Result<Option<CapturedFrame<'b>>, CaptureDamage> {
        let offset = blocks.offset();
        if !blocks.ensure(RECORD)? {
            return if blocks.is_at_end()? {
                Ok(None)
            } else {
                Err(CaptureDamage::Truncated { offset })
            };
        }
        let header = blocks.peek(RECORD);
        let field = |at| u32_at(header, at, self.big);
        let seconds = field(0);
        let fraction = field(4);
        let is_swapped = self.minor < 3 || (self.minor == 3 && field(8) > field(12));
        let captured_length = field(if is_swapped { 12 } else { 8 });
        let original_len = field(if is_swapped { 8 } else { 12 });
        if captured_length as usize > MAX_RECORD - RECORD {
            let expected = "at most 4 MiB";
            return Err(CaptureDamage::Length {
                offset,
                found: u64::from(captured_length),
                expected,
            });
        }
        if !blocks.ensure(RECORD + captured_length as usize)? {
            return Err(CaptureDamage::Truncated { offset });
        }
        let time_ns = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * self.unit_ns;
        let bytes = &blocks.consume(RECORD + captured_length as usize)[RECORD..];
        Ok(Some(CapturedFrame { time_ns, link: self.link, bytes, original_len }))
    }

    pub fn snaplen(&self) -> u32 {
        self.snaplen
    }
}
