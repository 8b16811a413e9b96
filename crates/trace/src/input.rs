//! Capture files to frames: pcap and pcapng, either of them packed with gzip, from anything that can be read.
//!
//! Streaming: a block of the file is in memory at a time, and a frame points into it. What a frame's bytes mean is not
//! known here. A damaged file gives its frames up to the damage and then says what and where.

mod blocks;
mod frame;
mod pcap;
mod pcapng;

use std::io::Read;

use blocks::Blocks;
use pcap::Pcap;
use pcapng::Pcapng;

pub use blocks::MAX_RECORD;
pub use frame::{Damage, Frame};

/// An opened capture.
pub struct Capture<R> {
    blocks: Blocks<R>,
    format: Format,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Box<Pcapng>),
}

impl<R: Read> Capture<R> {
    /// Recognizes the file by its first bytes.
    pub fn open(from: R) -> Result<Capture<R>, Damage> {
        let mut blocks = Blocks::open(from)?;
        let format = match Pcap::open(&mut blocks)? {
            Some(pcap) => Format::Pcap(pcap),
            None => Format::Pcapng(Box::new(Pcapng::open(&mut blocks)?)),
        };
        Ok(Capture { blocks, format })
    }

    /// The next frame; `None` at the file's end.
    pub fn frame(&mut self) -> Result<Option<Frame<'_>>, Damage> {
        match &mut self.format {
            Format::Pcap(pcap) => pcap.next(&mut self.blocks),
            Format::Pcapng(pcapng) => pcapng.next(&mut self.blocks),
        }
    }

    /// Bytes of the file consumed so far, unpacked.
    pub fn offset(&self) -> u64 {
        self.blocks.offset()
    }

    /// Packets that the capturing program says it lost.
    pub fn drops(&self) -> u64 {
        match &self.format {
            Format::Pcap(_) => 0,
            Format::Pcapng(pcapng) => pcapng.drops(),
        }
    }

    /// The most bytes that were kept of a packet, as the file says; 0: no limit.
    pub fn snaplen(&self) -> u32 {
        match &self.format {
            Format::Pcap(pcap) => pcap.snaplen(),
            Format::Pcapng(pcapng) => pcapng.snaplen(),
        }
    }
}

impl<R> std::fmt::Debug for Capture<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
