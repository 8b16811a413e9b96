//! ICMP messages that say that a packet of TCP could not be delivered, with the beginning of that packet (RFC 792, RFC 4443,
//! 3.1). Others are not read.

use crate::bytes::u16_at;
use crate::packet::TcpEndpoint;

/// IANA's numbers of ICMP of both versions, and of TCP.
pub const ICMP: u8 = 1;
pub const ICMP_V6: u8 = 58;
const TCP: u8 = 6;

/// Why a packet could not be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreachableReason {
    Network,
    Host,
    Port,
    /// A firewall forbids it.
    Prohibited,
}

/// A packet of TCP could not be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreachableNotice {
    /// Who says so.
    pub by: [u8; 16],
    pub reason: UnreachableReason,
    /// The ends of the packet.
    pub source: TcpEndpoint,
    pub destination: TcpEndpoint,
    /// Tags and tunnels, as in `IpSegment`.
    pub path: u64,
    is_v6: bool,
}

impl UnreachableNotice {
    /// Reads a message of ICMP that `by` sent. `None`: it says something else.
    pub fn read(bytes: &[u8], protocol: u8, by: [u8; 16], path: u64) -> Option<UnreachableNotice> {
        let is_v6 = protocol == ICMP_V6;
        let reason = reason(*bytes.first()?, *bytes.get(1)?, is_v6)?;
        // The rest of the message's own header, then the packet.
        let quoted = bytes.get(8..)?;
        let header = if is_v6 { 40 } else { usize::from(quoted.first()? & 15) * 4 };
        let addresses = quoted.get(if is_v6 { 8..40 } else { 12..20 })?;
        let is_tcp = *quoted.get(if is_v6 { 6 } else { 9 })? == TCP;
        let ports = quoted.get(header..header + 4).filter(|_| is_tcp)?;
        let (source, destination) = addresses.split_at(addresses.len() / 2);
        let end = |address: &[u8], at: usize| TcpEndpoint {
            address: sixteen(address),
            port: u16_at(ports, at, true),
        };
        let source = end(source, 0);
        let destination = end(destination, 2);
        Some(UnreachableNotice { by, reason, source, destination, path, is_v6 })
    }

    /// IANA's number of the protocol that brought it.
    pub fn protocol(&self) -> u8 {
        if self.is_v6 { ICMP_V6 } else { ICMP }
    }
}

/// An address of either version in sixteen bytes.
fn sixteen(address: &[u8]) -> [u8; 16] {
    let mut out = [0; 16];
    out[16 - address.len()..].copy_from_slice(address);
    if address.len() == 4 {
        out[10..12].copy_from_slice(&[0xff, 0xff]);
    }
    out
}

/// The meaning of type and code (RFC 1122, 3.2.2.1; RFC 1812, 5.2.7.1; RFC 4443, 3.1).
fn reason(kind: u8, code: u8, is_v6: bool) -> Option<UnreachableReason> {
    match (is_v6, kind, code) {
        (false, 3, 0 | 6 | 11) | (true, 1, 0) => Some(UnreachableReason::Network),
        (false, 3, 1 | 7 | 12) | (true, 1, 3) => Some(UnreachableReason::Host),
        (false, 3, 2 | 3) | (true, 1, 4) => Some(UnreachableReason::Port),
        (false, 3, 9 | 10 | 13) | (true, 1, 1 | 5 | 6) => Some(UnreachableReason::Prohibited),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, code: u8) -> Vec<u8> {
        let mut out = vec![kind, code, 0, 0, 0, 0, 0, 0];
        out.extend([0x45, 0, 0, 60, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        out.extend([0x9c, 0x40, 0, 80, 0, 0, 0, 1]);
        out
    }

    #[test]
    fn a_notice_names_the_packet_that_was_not_delivered() {
        let notice = UnreachableNotice::read(&message(3, 10), ICMP, [7; 16], 0).unwrap();
        assert_eq!(notice.reason, UnreachableReason::Prohibited);
        let ports = [notice.source.port, notice.destination.port];
        assert_eq!(
            (ports, notice.source.address[12..].to_vec()),
            ([40_000, 80], vec![10, 0, 0, 1])
        );
        for (kind, code) in [(3, 4), (11, 0), (8, 0)] {
            assert_eq!(UnreachableNotice::read(&message(kind, code), ICMP, [7; 16], 0), None);
        }
        let whole = message(3, 3);
        for length in 0..whole.len() - 4 {
            assert_eq!(UnreachableNotice::read(&whole[..length], ICMP, [7; 16], 0), None);
        }
    }
}
