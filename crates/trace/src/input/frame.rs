//! Results of reading a capture file: frames, and the damage of a file.
//!
//! Plain data without input.

use thiserror::Error;

#[derive(Clone, Copy, Debug)]
pub struct CapturedFrame<'a> {
    /// Nanoseconds since the epoch.
    pub time_ns: i64,
    /// Link type: a LINKTYPE number of the registry of pcap files.
    pub link: u16,
    pub bytes: &'a [u8],
    /// Its length on the wire, bytes.
    pub original_len: u32,
}

/// The damage of a file, and its position.
#[derive(Debug, Error)]
pub enum CaptureDamage {
    #[error("reading failed after {offset} bytes")]
    Read {
        /// Bytes read before, unpacked.
        offset: u64,
        #[source]
        source: std::io::Error,
    },
    /// The file format is unknown.
    #[error(
        "this is no capture: it begins with the bytes {}; expected pcap, pcapng, or either packed with gzip, zstd or lz4",
        hexadecimal(*found)
    )]
    NoCapture { found: [u8; 4] },
    /// It ends within a record.
    #[error("the file ends within a record that begins at byte {offset}")]
    Truncated {
        /// Where the record begins, unpacked.
        offset: u64,
    },
    /// A record has an impossible length.
    #[error("the record at byte {offset} says it has {found} bytes; expected {expected}")]
    Length {
        /// Where it begins, unpacked.
        offset: u64,
        found: u64,
        expected: &'static str,
    },
    /// A packet names an interface that no block described.
    #[error("the packet at byte {offset} names interface {interface}, which no block describes")]
    Interface {
        /// Where it begins, unpacked.
        offset: u64,
        interface: u32,
    },
    /// There are more frames than numbers for them.
    #[error("there are more than {most} packets")]
    Frames { most: u64 },
}

impl CaptureDamage {
    /// Whether no part of the file was readable.
    pub fn is_total(&self) -> bool {
        matches!(self, CaptureDamage::NoCapture { .. } | CaptureDamage::Read { offset: 0, .. })
    }
}

/// Bytes as digits: `0a 0d 0d 0a`.
fn hexadecimal(bytes: [u8; 4]) -> String {
    let [first, second, third, fourth] = bytes;
    format!("{first:02x} {second:02x} {third:02x} {fourth:02x}")
}
