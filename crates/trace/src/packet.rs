//! A captured TCP packet: its ends, its header, and the length of its payload.
//!
//! `link` removes links and tunnels; this module reads the TCP header and its options. Lengths of payload come from IP
//! headers, never from the captured length.

use crate::bytes::{u16_at, u32_at};

/// Flags of the TCP header (RFC 9293 §3.1).
pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TcpEndpoint {
    /// The address; version 4 is mapped into version 6 (RFC 4291, 2.5.5.2).
    pub address: [u8; 16],
    pub port: u16,
}

/// The IP header's fields.
#[derive(Clone, Copy, Debug)]
pub struct IpSegment<'a> {
    pub source: [u8; 16],
    pub destination: [u8; 16],
    /// The IP identification. `None` with IPv6.
    pub ip_id: Option<u16>,
    /// Routers that the packet may still pass: TTL, or the hop limit of IPv6.
    pub ttl: u8,
    /// VLANs, sessions and tunnels of the packet, folded into a number; the same in both directions.
    pub path: u64,
    /// Bytes behind the IP header that were captured.
    pub bytes: &'a [u8],
    /// Bytes behind the IP header on the wire.
    pub length: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct TcpPacket<'a> {
    /// Nanoseconds since the capture began; negative when files are out of order.
    pub time_ns: i64,
    /// Its number in the capture, from 1.
    pub number: u32,
    pub source: TcpEndpoint,
    pub destination: TcpEndpoint,
    pub path: u64,
    pub ip_id: Option<u16>,
    /// Routers that it may still pass.
    pub ttl: u8,
    pub seq: u32,
    pub ack: u32,
    /// `FIN`, `SYN`, `RST`, `ACK` and the others of the header's byte 13.
    pub flags: u8,
    /// The unscaled window of the header.
    pub window: u16,
    /// Checksum field, right or not.
    pub checksum: u16,
    pub options: TcpOptions,
    /// Payload bytes on the wire.
    pub length: u32,
    /// Payload that was captured.
    pub payload: &'a [u8],
}

/// The values of TCP's timestamps option, in ticks of their senders' clocks (RFC 7323, 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampOption {
    /// The sender's clock (TSval).
    pub value: u32,
    /// The peer's latest value that the sender received (TSecr).
    pub echo: u32,
}

/// The TCP options that the analysis uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Largest segment, bytes; 0: not given (RFC 9293, 3.7.1).
    pub mss: u16,
    /// Window scale shift as given (RFC 7323, 2).
    pub scale: Option<u8>,
    /// Selective acknowledgements permitted (RFC 2018).
    pub sack_permitted: bool,
    pub stamps: Option<TimestampOption>,
    /// Bytes that the blocks of a selective acknowledgement name.
    pub sacked: u32,
    /// Some of them were not captured.
    pub is_cut: bool,
}

/// Why a TCP header is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpHeaderError {
    /// Less of the header was captured than its first 20 bytes.
    Cut,
    /// The header's length is below 20 bytes, or beyond the packet.
    Length,
}

/// A TCP header without options.
const HEADER: usize = 20;

impl<'a> TcpPacket<'a> {
    #[inline]
    pub fn read(
        carried: &IpSegment<'a>,
        time_ns: i64,
        number: u32,
    ) -> Result<TcpPacket<'a>, TcpHeaderError> {
        let bytes = carried.bytes;
        if bytes.len() < HEADER {
            return Err(TcpHeaderError::Cut);
        }
        let header = usize::from(bytes[12] >> 4) * 4;
        if header < HEADER || header as u32 > carried.length {
            return Err(TcpHeaderError::Length);
        }
        let header_length = bytes.len().min(header);
        let length = carried.length - header as u32;
        let payload = &bytes[header_length..];
        let payload = &payload[..payload.len().min(length as usize)];
        let source = TcpEndpoint { address: carried.source, port: u16_at(bytes, 0, true) };
        let destination =
            TcpEndpoint { address: carried.destination, port: u16_at(bytes, 2, true) };
        Ok(TcpPacket {
            time_ns,
            number,
            source,
            destination,
            path: carried.path,
            ip_id: carried.ip_id,
            ttl: carried.ttl,
            seq: u32_at(bytes, 4, true),
            ack: u32_at(bytes, 8, true),
            flags: bytes[13],
            window: u16_at(bytes, 14, true),
            checksum: u16_at(bytes, 16, true),
            options: TcpOptions {
                is_cut: header_length < header,
                ..TcpOptions::read(&bytes[HEADER..header_length])
            },
            length,
            payload,
        })
    }

    /// Whether a flag is set.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

impl TimestampOption {
    /// Reads both values, of which the first begins at `at`.
    #[inline]
    fn read(bytes: &[u8], at: usize) -> TimestampOption {
        TimestampOption { value: u32_at(bytes, at, true), echo: u32_at(bytes, at + 4, true) }
    }
}

impl TcpOptions {
    #[inline]
    fn read(bytes: &[u8]) -> TcpOptions {
        let mut options = TcpOptions::default();
        // Two fillers and timestamps: the options of most packets.
        if bytes.len() == 12 && bytes[..4] == [1, 1, 8, 10] {
            options.stamps = Some(TimestampOption::read(bytes, 4));
        } else if !bytes.is_empty() {
            options.parse_options(bytes);
        }
        options
    }

    fn parse_options(&mut self, mut rest: &[u8]) {
        while let Some((&kind, behind)) = rest.split_first() {
            if kind == 0 {
                return;
            }
            if kind == 1 {
                rest = behind;
                continue;
            }
            let Some(length) = behind.first().map(|length| usize::from(*length)) else { return };
            let Some(option) = rest.get(..length).filter(|_| length >= 2) else { return };
            match (kind, length) {
                (2, 4) => self.mss = u16_at(option, 2, true),
                (3, 3) => self.scale = Some(option[2]),
                (4, 2) => self.sack_permitted = true,
                (5, 10 | 18 | 26 | 34) => {
                    self.sacked = option[2..].chunks_exact(8).fold(0, |sum, block| {
                        let length = u32_at(block, 4, true).wrapping_sub(u32_at(block, 0, true));
                        u32::saturating_add(sum, length)
                    });
                }
                (8, 10) => self.stamps = Some(TimestampOption::read(option, 2)),
                _ => {}
            }
            rest = &rest[length..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_up_to_what_is_broken() {
        let syn = [2, 4, 5, 180, 1, 3, 3, 7, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8, 5, 200];
        let options = TcpOptions::read(&syn);
        let expected = TcpOptions {
            mss: 1460,
            scale: Some(7),
            sack_permitted: true,
            stamps: Some(TimestampOption { value: 9, echo: 8 }),
            sacked: 0,
            is_cut: false,
        };
        assert_eq!(options, expected);
        let sack = [1, 1, 5, 10, 0, 0, 0, 100, 0, 0, 5, 0];
        assert_eq!(TcpOptions::read(&sack).sacked, 0x500 - 100);
        assert_eq!(TcpOptions::read(&[3, 0, 0, 0]), TcpOptions::default(), "a length of nothing");
    }
}
