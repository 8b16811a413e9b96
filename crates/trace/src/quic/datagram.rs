//! What a datagram of QUIC shows without keys: forms, types, versions and connection ids of its packets (RFC 8999, RFC 9000
//! section 17, RFC 9369), and the spin bit.

/// The longest connection id of versions 1 and 2 (RFC 9000 §17.2).
const MAX_ID: usize = 20;
/// Version 2 numbers the types of long headers in its own way (RFC 9369 §3.2).
const VERSION_2: u32 = 0x6b33_43cf;
/// A client's first datagram has at least this many bytes (RFC 9000 §14.1).
const MIN_INITIAL: u32 = 1_200;

/// A connection id; the first `length` bytes count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicConnectionId {
    bytes: [u8; MAX_ID],
    length: u8,
}

impl QuicConnectionId {
    fn read(bytes: &[u8], at: usize) -> Option<QuicConnectionId> {
        let length = *bytes.get(at)?;
        let from = bytes.get(at + 1..at + 1 + usize::from(length))?;
        let mut id = QuicConnectionId { length, ..QuicConnectionId::default() };
        id.bytes.get_mut(..from.len())?.copy_from_slice(from);
        Some(id)
    }
}

/// The packets of one datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicDatagram {
    /// The version of long headers; 0: the server names the versions that it has.
    pub version: Option<u32>,
    /// Where the first packet goes to, and who sent it; of long headers.
    pub destination: QuicConnectionId,
    pub source: QuicConnectionId,
    pub has_initial: bool,
    pub has_zero_rtt: bool,
    pub has_handshake: bool,
    pub is_retry: bool,
    /// The spin bit of a short header (RFC 9000 §17.4). `None`: there is no short header.
    pub spin: Option<bool>,
}

impl QuicDatagram {
    /// Whether it may open a connection; `length`: its bytes on the wire.
    pub fn may_begin(&self, length: u32) -> bool {
        self.has_initial && length >= MIN_INITIAL
    }

    /// Reads the packets of a datagram as far as they were captured. `None`: it is no QUIC of a known version.
    pub fn read(bytes: &[u8]) -> Option<QuicDatagram> {
        let mut found = QuicDatagram::default();
        let mut rest = bytes;
        let mut is_first = true;
        while let Some(first) = rest.first().copied() {
            if first & 0x80 == 0 {
                if first & 0x40 == 0 {
                    // Behind packets of long headers such bytes are padding.
                    return (!is_first).then_some(found);
                }
                found.spin = Some(first & 0x20 != 0);
                return Some(found);
            }
            let Some(length) = found.read_long_packet(rest, first, is_first) else {
                return (!is_first).then_some(found);
            };
            is_first = false;
            rest = rest.get(length..).unwrap_or_default();
        }
        (!is_first).then_some(found)
    }

    /// Reads a packet with a long header, and returns its length.
    fn read_long_packet(&mut self, bytes: &[u8], first: u8, is_first: bool) -> Option<usize> {
        let version = u32::from_be_bytes(*bytes.get(1..)?.first_chunk()?);
        let destination = QuicConnectionId::read(bytes, 5)?;
        let source_at = 6 + usize::from(destination.length);
        let source = QuicConnectionId::read(bytes, source_at)?;
        let after_ids = source_at + 1 + usize::from(source.length);
        if version == 0 {
            *self = QuicDatagram { version: Some(0), destination, source, ..*self };
            return Some(bytes.len());
        }
        if first & 0x40 == 0 || !is_known(version) {
            return None;
        }
        if is_first {
            *self = QuicDatagram { version: Some(version), destination, source, ..*self };
        }
        let kind = (first >> 4) & 3;
        let kind = if version == VERSION_2 { kind.wrapping_sub(1) & 3 } else { kind };
        let mut at = after_ids;
        match kind {
            0 => {
                self.has_initial = true;
                let token = VariableNumber::read(bytes, at)?;
                at = token.end.checked_add(usize::try_from(token.value).ok()?)?;
            }
            1 => self.has_zero_rtt = true,
            2 => self.has_handshake = true,
            _ => {
                self.is_retry = true;
                return Some(bytes.len());
            }
        }
        let length = VariableNumber::read(bytes, at)?;
        length.end.checked_add(usize::try_from(length.value).ok()?)
    }
}

/// Versions 1 and 2, and the drafts that had version 1's headers.
fn is_known(version: u32) -> bool {
    matches!(version, 1 | VERSION_2 | 0xff00_001d..=0xff00_0022)
}

/// A number of one, two, four or eight bytes (RFC 9000 §16).
struct VariableNumber {
    value: u64,
    /// Where the next byte is.
    end: usize,
}

impl VariableNumber {
    fn read(bytes: &[u8], at: usize) -> Option<VariableNumber> {
        let first = *bytes.get(at)?;
        let end = at + (1 << (first >> 6));
        let digits = bytes.get(at + 1..end)?;
        let value = digits
            .iter()
            .fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
        Some(VariableNumber { value, end })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn long(first: u8, version: u32, token: Option<&[u8]>, payload: usize) -> Vec<u8> {
        let mut out = vec![first];
        out.extend(version.to_be_bytes());
        out.extend([4, 1, 2, 3, 4, 2, 8, 9]);
        if let Some(token) = token {
            out.push(token.len() as u8);
            out.extend(token);
        }
        out.extend((0x4000 | payload as u16).to_be_bytes());
        out.resize(out.len() + payload, 7);
        out
    }

    #[test]
    fn packets_of_a_datagram_are_told_by_their_types() {
        let initial = long(0xc3, 1, Some(b"token"), 1_180);
        let found = QuicDatagram::read(&initial).unwrap();
        assert!(found.may_begin(1_200) && !found.may_begin(1_199));
        assert_eq!(found.version, Some(1));
        assert_eq!((found.destination.length, found.source.length), (4, 2));
        assert!(found.has_initial && !found.has_handshake && found.spin.is_none());

        let mut answer = long(0xc0, 1, Some(b""), 90);
        answer.extend(long(0xe0, 1, None, 700));
        answer.extend([0x60; 30]);
        let found = QuicDatagram::read(&answer).unwrap();
        assert!(found.has_initial && found.has_handshake);
        assert_eq!(found.spin, Some(true));

        let second = QuicDatagram::read(&long(0xd0, VERSION_2, Some(b""), 90)).unwrap();
        assert!(second.has_initial && !second.has_zero_rtt);
        let early = QuicDatagram::read(&long(0xd0, 1, None, 90)).unwrap();
        assert!(early.has_zero_rtt && !early.has_initial);
        assert!(QuicDatagram::read(&long(0xf0, 1, None, 90)).unwrap().is_retry);
        assert_eq!(QuicDatagram::read(&long(0x80, 0, None, 8)).unwrap().version, Some(0));
        let short = QuicDatagram::read(&[0x41; 40]).unwrap();
        assert_eq!((short.version, short.spin), (None, Some(false)));
        // Cut by the capture, the packets before the cut count.
        assert!(QuicDatagram::read(&answer[..200]).unwrap().has_handshake);
    }

    #[test]
    fn other_datagrams_are_none() {
        for bytes in [&b""[..], b"\x00\x01\x02", b"\xc0\x00", &long(0xc0, 77, Some(b""), 1_200)] {
            assert_eq!(QuicDatagram::read(bytes), None);
        }
        let mut long_id = long(0xc0, 1, Some(b""), 90);
        long_id[5] = 21;
        assert_eq!(QuicDatagram::read(&long_id), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = QuicDatagram::read(&bytes);
        }

        #[test]
        fn changed_and_cut_datagrams_are_read_or_not(at in 0_usize..800, to in any::<u8>(), cut in 0_usize..900) {
            let mut bytes = long(0xc0, 1, Some(b"abc"), 90);
            bytes.extend(long(0xe0, 1, None, 700));
            let at = at % bytes.len();
            bytes[at] = to;
            bytes.truncate(cut);
            let _ = QuicDatagram::read(&bytes);
        }
    }
}
