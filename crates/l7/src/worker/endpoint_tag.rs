//! The tag of a QUIC endpoint, by which workers find the owner of a packet.

use crate::rt::random;

/// Length of a tag in bytes.
/// 32 random bits: two endpoints of one process hardly ever have the same tag.
pub const TAG: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EndpointTag(pub [u8; TAG]);

impl EndpointTag {
    pub fn draw() -> EndpointTag {
        let mut tag = [0; TAG];
        random::fill(&mut tag);
        EndpointTag(tag)
    }
}
