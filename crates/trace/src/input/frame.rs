//! What comes out of a capture file: frames, and what was wrong with the file.
//!
//! Plain data; nothing is read here.

use thiserror::Error;

#[derive(Clone, Copy, Debug)]
pub struct CapturedFrame<'a> {
    /// Nanoseconds since the epoch.
    pub time_ns: i64,
    /// Link type: a LINKTYPE number of the registry of pcap files.
    pub link: u16,
    /// What was kept of it.
    pub bytes: &'a [u8],
    /// Its length on the wire, bytes.
    pub original_len: u32,
}

/// What went wrong with a file, and where.
#[derive(Debug, Error)]
pub enum CaptureDamage {
    #[error("reading failed after {offset} bytes")]
    Read {
        /// Bytes read before, unpacked.
        offset: u64,
        #[source]
        source: std::io::Error,
    },
    /// The file is not of a kind that is known.
    #[error(
        "this is no capture: it begins with {found:02x?}; expected pcap, pcapng, or either packed with gzip"
    )]
    NoCapture { found: [u8; 4] },
    /// It ends within a record.
    #[error("the file ends within a record that begins at byte {offset}")]
    Truncated {
        /// Where the record begins, unpacked.
        offset: u64,
    },
    /// A record has a length that cannot be.
    #[error("the record at byte {offset} says it has {found} bytes; expected {expected}")]
    Length {
        /// Where it begins, unpacked.
        offset: u64,
        /// The length it states.
        found: u64,
        /// What lengths can be.
        expected: &'static str,
    },
    /// A packet names an interface that no block described.
    #[error("the packet at byte {offset} names interface {interface}, which no block describes")]
    Interface {
        /// Where it begins, unpacked.
        offset: u64,
        interface: u32,
    },
}

impl CaptureDamage {
    /// Whether nothing of the file could be understood.
    pub fn is_total(&self) -> bool {
        matches!(self, CaptureDamage::NoCapture { .. } | CaptureDamage::Read { offset: 0, .. })
    }
}
