//! One stored packet of a connection: 48 bytes, in units of the connection.
//!
//! Plain data. Offsets count from the first payload byte of a direction; they do not wrap.

use crate::packet::{ACK, FIN, RST, SYN};

/// Who sent: the client, who opened the connection, or the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionSide {
    Client,
    Server,
}

impl ConnectionSide {
    pub const fn peer(self) -> ConnectionSide {
        match self {
            ConnectionSide::Client => ConnectionSide::Server,
            ConnectionSide::Server => ConnectionSide::Client,
        }
    }

    /// 0 or 1, for arrays of both.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// From the server; otherwise from the client.
const SERVER: u8 = 1;
/// Every payload byte was seen before.
pub const REPEAT: u8 = 2;
pub const PARTLY: u8 = 4;
/// The packet fills a hole below captured data: reordered, or a retransmission of a loss before the capture.
pub const FILLS: u8 = 8;
/// A probe of a closed window or of a quiet connection.
pub const PROBE: u8 = 16;
/// The packet is not in the capture: an acknowledgement shows that it passed.
pub const UNSEEN: u8 = 32;
/// As above, and only later data acknowledges it, so it may have passed at any time before.
pub const UNTIMED: u8 = 64;
/// The packet has timestamps.
pub const STAMPED: u8 = 128;

#[derive(Clone, Copy, Debug)]
pub struct PacketEvent {
    /// Nanoseconds since the capture began.
    pub time_ns: i64,
    /// Offset of its first payload byte.
    pub seq: i64,
    /// The acknowledged offset of the other direction.
    pub ack: i64,
    /// Number in the capture.
    pub number: u32,
    pub length: u32,
    /// Its sender's clock, in ticks (TSval; RFC 7323, 3).
    pub stamp: u32,
    /// The latest value of the peer that its sender knew (TSecr).
    pub echo: u32,
    /// The unscaled window of the header.
    pub window: u16,
    /// IP identification; 0 with version 6.
    pub ip_id: u16,
    pub flags: u8,
    marks: u8,
}

impl PacketEvent {
    /// Fills in who sent it.
    pub fn from(side: ConnectionSide) -> PacketEvent {
        let marks = if side == ConnectionSide::Server { SERVER } else { 0 };
        PacketEvent {
            time_ns: 0,
            seq: 0,
            ack: 0,
            number: 0,
            length: 0,
            stamp: 0,
            echo: 0,
            window: 0,
            ip_id: 0,
            flags: 0,
            marks,
        }
    }

    #[inline]
    /// The other side sent it.
    pub fn swap_side(&mut self) {
        self.marks ^= SERVER;
    }

    pub fn side(&self) -> ConnectionSide {
        if self.marks & SERVER == 0 { ConnectionSide::Client } else { ConnectionSide::Server }
    }

    /// Whether a mark is set.
    #[inline]
    pub fn has_mark(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    pub fn mark(&mut self, marks: u8) {
        self.marks |= marks;
    }

    #[inline]
    pub fn has_ack(&self) -> bool {
        self.flags & (ACK | RST) == ACK
    }

    #[inline]
    pub fn is_syn(&self) -> bool {
        self.flags & SYN != 0
    }

    /// Whether it closes its direction.
    #[inline]
    pub fn is_fin(&self) -> bool {
        self.flags & FIN != 0
    }

    /// Offset behind its payload.
    #[inline]
    pub fn end(&self) -> i64 {
        self.seq + i64::from(self.length)
    }

    /// Whether it carries payload that was not seen before.
    #[inline]
    pub fn has_new_data(&self) -> bool {
        self.length > 0 && self.marks & (REPEAT | PROBE) == 0
    }

    /// Whether the packet repeats payload that was captured before.
    #[inline]
    pub fn is_retransmission(&self) -> bool {
        self.length > 0 && self.marks & REPEAT != 0 && self.marks & PROBE == 0
    }
}

// Captures have millions of packets: a larger event would cost that much memory, so growth is a choice.
const _: () = assert!(size_of::<PacketEvent>() == 48);
