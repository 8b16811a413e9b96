//! Counts over a capture: frames, what they were, and what is missing. Plain data.

use crate::link::NonTcpFrame;

/// Counts over the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureFacts {
    pub frames: u64,
    /// Captured bytes of these frames.
    pub captured_bytes: u64,
    /// TCP packets, copies included.
    pub tcp_packets: u64,
    /// Copies that only the capture made.
    pub duplicates: u64,
    /// TCP packets that the filter left out.
    pub filtered: u64,
    /// TCP packets of connections beyond the limit.
    pub beyond_limit: u64,
    /// Frames of unknown link types, and the last such link type.
    pub unknown_link: u64,
    pub unknown_link_type: u16,
    pub not_ip: u64,
    pub not_tcp: u64,
    pub fragments: u64,
    /// Cut or broken before TCP's header was complete.
    pub broken: u64,
    pub too_deep: u64,
    /// Frames with an earlier time than the frame before; they get its time.
    pub backwards: u64,
    /// Bytes that passed, by their acknowledgements, and that the capture lacks; and in how many pieces.
    pub missing_bytes: i64,
    pub missing_pieces: u64,
    /// Connections of which only one direction was captured.
    pub one_way_connections: u64,
    /// The first frame, nanoseconds since the epoch.
    pub first_ns: i64,
    /// The last frame, nanoseconds since the first.
    pub last_ns: i64,
}

impl CaptureFacts {
    /// Counts a frame without TCP or QUIC that could be read.
    pub fn count_skipped(&mut self, other: NonTcpFrame) {
        match other {
            NonTcpFrame::Link(number) => {
                self.unknown_link += 1;
                self.unknown_link_type = number;
            }
            NonTcpFrame::NotIp(_) => self.not_ip += 1,
            NonTcpFrame::NotTcp(_) => self.not_tcp += 1,
            NonTcpFrame::Fragment => self.fragments += 1,
            NonTcpFrame::Broken => self.broken += 1,
            NonTcpFrame::TooDeep => self.too_deep += 1,
        }
    }
}
