//! QUIC connection ids: the first bytes of a packet identify the endpoint that owns its connection.
//!
//! An id is the tag of an endpoint followed by random bytes. The tag shows observers which connections share an
//! endpoint; the random bytes reveal nothing (RFC 9000 §5.1).

use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};

use crate::rt::random;
use crate::worker::endpoint_tag::{EndpointTag, TAG};

/// Length of the balancer's ids in bytes: a length that clients rarely choose for their first packets.
pub const LENGTH: usize = 13;

/// Creates the ids of an endpoint.
#[derive(Debug)]
pub struct ConnectionIds(pub EndpointTag);

impl ConnectionIdGenerator for ConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut id = [0; LENGTH];
        random::fill(&mut id[TAG..]);
        id[..TAG].copy_from_slice(&self.0.0);
        ConnectionId::new(&id)
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        if id.starts_with(&self.0.0) { Ok(()) } else { Err(InvalidCid) }
    }

    fn cid_len(&self) -> usize {
        LENGTH
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// The tag in a packet's destination connection id (RFC 8999 §5). `None`: the id is not one of the balancer's.
pub fn tag_of(packet: &[u8]) -> Option<EndpointTag> {
    let id = match packet.first()? & 0x80 {
        0 => packet.get(1..1 + LENGTH)?,
        _ if usize::from(*packet.get(5)?) == LENGTH => packet.get(6..6 + LENGTH)?,
        _ => return None,
    };
    id.first_chunk().copied().map(EndpointTag)
}

/// Whether a packet may start a connection: an Initial packet of version 1 (RFC 9000 §17.2.2).
pub fn may_begin_connection(packet: &[u8]) -> bool {
    packet.len() > 5 && packet[0] & 0xf0 == 0xc0 && packet[1..5] == [0, 0, 0, 1]
}

/// Longest connection id in version 1, in bytes (RFC 9000 §17.2).
const LONGEST: usize = 20;

/// Smallest datagram that may start a connection, in bytes (RFC 9000 §14.1); a smaller one gets no response.
const SMALLEST: usize = 1_200;

/// The versions in a Version Negotiation packet: a reserved one (RFC 9000 §15), so that clients learn to ignore unknown
/// versions, and version 1.
const VERSIONS: [u32; 2] = [0x0a1a_2a3a, 1];

/// Whether a packet of another version has ids longer than version 1 allows, which `quinn-proto` cannot parse. If so, a
/// Version Negotiation packet is written to `out` (RFC 9000 §5.2.2, §17.2.1).
pub fn wants_other_version(packet: &[u8], out: &mut Vec<u8>) -> bool {
    if packet.first().is_none_or(|first| first & 0x80 == 0) || packet.len() < SMALLEST {
        return false;
    }
    let Some((version, rest)) = packet[1..].split_first_chunk() else { return false };
    let Some((destination, rest)) = read_long_id(rest) else { return false };
    let Some((source, _)) = read_long_id(rest) else { return false };
    let version = u32::from_be_bytes(*version);
    let long = destination.len() > LONGEST || source.len() > LONGEST;
    if !long || version == 0 || VERSIONS[1..].contains(&version) {
        return false;
    }
    let mut first = [0];
    random::fill(&mut first);
    out.push(first[0] | 0xc0);
    out.extend_from_slice(&[0; 4]);
    for id in [source, destination] {
        out.push(id.len() as u8);
        out.extend_from_slice(id);
    }
    VERSIONS.iter().for_each(|version| out.extend_from_slice(&version.to_be_bytes()));
    true
}

/// An id after its length byte, in the form of all versions (RFC 8999 §5.1), and the rest.
fn read_long_id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_a_packet_is_is_known_by_its_first_bytes() {
        let mut ids = ConnectionIds(EndpointTag(*b"abcd"));
        let id = ids.generate_cid();
        assert!(ids.validate(&id).is_ok() && id.len() == LENGTH);
        assert_ne!(id, ids.generate_cid());
        let short = [&[0x4f][..], &id, b"payload"].concat();
        let long = [&[0xe3, 0, 0, 0, 1, LENGTH as u8][..], &id, &[0, 7]].concat();
        assert_eq!((tag_of(&short), tag_of(&long)), (Some(ids.0), Some(ids.0)));
        let theirs = [&[0xc3, 0, 0, 0, 1, 8][..], b"abcdefgh", &[0, 7]].concat();
        assert_eq!(tag_of(&theirs), None);
        assert!(
            may_begin_connection(&theirs)
                && !may_begin_connection(&long)
                && !may_begin_connection(&short)
        );
        for packet in [&short, &long, &theirs] {
            for cut in 0..packet.len() {
                let _ = (tag_of(&packet[..cut]), may_begin_connection(&packet[..cut]));
            }
        }
        assert_eq!(tag_of(&short[..LENGTH]), None);
    }

    #[test]
    fn a_version_that_is_not_ours_is_answered_whatever_the_length_of_its_ids() {
        let packet = |version: u32, ids: [usize; 2], length: usize| {
            let mut bytes = vec![0xc0];
            bytes.extend_from_slice(&version.to_be_bytes());
            for (length, byte) in ids.into_iter().zip([0xaa, 0xbb]) {
                bytes.push(length as u8);
                bytes.extend(std::iter::repeat_n(byte, length));
            }
            bytes.resize(length, 0);
            bytes
        };
        let mut out = Vec::new();
        for ids in [[21, 0], [255, 255], [0, 21], [20, 200]] {
            out.clear();
            assert!(wants_other_version(&packet(0x1a2a_3a4a, ids, 1_200), &mut out), "{ids:?}");
            assert!(out[0] & 0x80 != 0 && out[1..5] == [0; 4] && out.len() < 1_200);
            let (destination, rest) = read_long_id(&out[5..]).unwrap();
            let (source, versions) = read_long_id(rest).unwrap();
            assert_eq!(
                (destination, source),
                (&[0xbb].repeat(ids[1])[..], &[0xaa].repeat(ids[0])[..])
            );
            assert_eq!(versions, [0x0a, 0x1a, 0x2a, 0x3a, 0, 0, 0, 1]);
        }
        for (version, ids, length) in [
            // No response: too small a datagram, version 1, a Version Negotiation packet, and ids that `quinn-proto`
            // handles.
            (0x1a2a_3a4a, [21, 8], 1_199),
            (1, [21, 8], 1_200),
            (0, [21, 8], 1_200),
            (0x1a2a_3a4a, [20, 20], 1_200),
        ] {
            assert!(!wants_other_version(&packet(version, ids, length), &mut Vec::new()));
        }
        for cut in 0..600 {
            let whole = packet(0x1a2a_3a4a, [255, 255], 1_200);
            let _ = wants_other_version(&whole[..cut], &mut Vec::new());
        }
    }
}
