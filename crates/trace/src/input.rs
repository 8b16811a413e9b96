//! Capture files to frames: pcap and pcapng, plain or packed with gzip, zstd or lz4, from any reader. And blocks of the
//! kernel's ring.
//!
//! Streaming: one block of the file is in memory at a time, and a frame refers to it. It does not interpret the frames.
//! A damaged file yields its frames up to the damage, then the error with its position.

mod blocks;
mod counted_reader;
mod frame;
mod packed;
mod pcap;
mod pcapng;
mod ring_block;
mod zstd_frames;

use std::io::Read;

use blocks::BlockReader;
use pcap::PcapReader;
use pcapng::PcapngReader;

pub use blocks::MAX_RECORD;
pub use frame::{CaptureDamage, CapturedFrame};
pub use ring_block::RingBlock;

pub struct CaptureReader<R: Read> {
    blocks: BlockReader<R>,
    format: CaptureFormat,
}

enum CaptureFormat {
    Pcap(PcapReader),
    Pcapng(Box<PcapngReader>),
}

impl<R: Read> CaptureReader<R> {
    /// Recognizes the file by its first bytes.
    pub fn open(from: R) -> Result<CaptureReader<R>, CaptureDamage> {
        let mut blocks = BlockReader::open(from)?;
        let format = match PcapReader::open(&mut blocks)? {
            Some(pcap) => CaptureFormat::Pcap(pcap),
            None => CaptureFormat::Pcapng(Box::new(PcapngReader::open(&mut blocks)?)),
        };
        Ok(CaptureReader { blocks, format })
    }

    /// The next frame. `None` at the file's end.
    #[inline]
    pub fn frame(&mut self) -> Result<Option<CapturedFrame<'_>>, CaptureDamage> {
        match &mut self.format {
            CaptureFormat::Pcap(pcap) => pcap.next(&mut self.blocks),
            CaptureFormat::Pcapng(pcapng) => pcapng.next(&mut self.blocks),
        }
    }

    /// Bytes of the file consumed so far, unpacked.
    pub fn offset(&self) -> u64 {
        self.blocks.offset()
    }

    /// Packets that the capturing program reports as lost.
    pub fn drops(&self) -> u64 {
        match &self.format {
            CaptureFormat::Pcap(_) => 0,
            CaptureFormat::Pcapng(pcapng) => pcapng.drops(),
        }
    }

    /// The most bytes captured of a packet, by the file's header; 0: no limit.
    pub fn snaplen(&self) -> u32 {
        match &self.format {
            CaptureFormat::Pcap(pcap) => pcap.snaplen(),
            CaptureFormat::Pcapng(pcapng) => pcapng.snaplen(),
        }
    }
}

impl<R: Read> std::fmt::Debug for CaptureReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
