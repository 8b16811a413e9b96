//! Connection ids: whose a packet is can be told from its first bytes. Nothing is kept here.
//!
//! An id is the tag of an endpoint and then random bytes. The tag tells observers which connections share an endpoint;
//! the rest tells them nothing (RFC 9000 §5.1).

use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};

/// Bytes of an id of ours: none that clients commonly choose for their first packets.
pub const LENGTH: usize = 13;

/// Bytes of a tag.
const TAG: usize = 4;

/// Which endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub [u8; TAG]);

impl Tag {
    /// A new one.
    pub fn draw() -> Tag {
        let mut tag = [0; TAG];
        random(&mut tag);
        Tag(tag)
    }
}

/// Fills with random bytes. Without any, ids would be alike and their connections not be told apart, which ends them.
pub fn random(bytes: &mut [u8]) {
    // The kernel has them from early boot on: there is nothing to be done about a failure.
    let _ = aws_lc_rs::rand::fill(bytes);
}

/// Makes the ids of an endpoint.
#[derive(Debug)]
pub struct Ids(pub Tag);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut id = [0; LENGTH];
        random(&mut id[TAG..]);
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

/// The tag in the destination of a packet (RFC 8999 §5); `None`: its destination is no id of ours.
pub fn tag_of(packet: &[u8]) -> Option<Tag> {
    let id = match packet.first()? & 0x80 {
        0 => packet.get(1..1 + LENGTH)?,
        _ if usize::from(*packet.get(5)?) == LENGTH => packet.get(6..6 + LENGTH)?,
        _ => return None,
    };
    id.first_chunk().copied().map(Tag)
}

/// Whether a packet may begin a connection: an Initial of version 1 (RFC 9000 §17.2.2).
pub fn may_begin(packet: &[u8]) -> bool {
    packet.len() > 5 && packet[0] & 0xf0 == 0xc0 && packet[1..5] == [0, 0, 0, 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_a_packet_is_is_told_by_its_first_bytes() {
        let mut ids = Ids(Tag(*b"abcd"));
        let id = ids.generate_cid();
        assert!(ids.validate(&id).is_ok() && id.len() == LENGTH);
        assert_ne!(id, ids.generate_cid());
        let short = [&[0x4f][..], &id, b"payload"].concat();
        let long = [&[0xe3, 0, 0, 0, 1, LENGTH as u8][..], &id, &[0, 7]].concat();
        assert_eq!((tag_of(&short), tag_of(&long)), (Some(ids.0), Some(ids.0)));
        let theirs = [&[0xc3, 0, 0, 0, 1, 8][..], b"abcdefgh", &[0, 7]].concat();
        assert_eq!(tag_of(&theirs), None);
        assert!(may_begin(&theirs) && !may_begin(&long) && !may_begin(&short));
        for packet in [&short, &long, &theirs] {
            for cut in 0..packet.len() {
                let _ = (tag_of(&packet[..cut]), may_begin(&packet[..cut]));
            }
        }
        assert_eq!(tag_of(&short[..LENGTH]), None);
    }
}
