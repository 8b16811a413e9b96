//! Defects of a replication packet.

use crate::defect::defects;

defects! {
    pub enum ReplicaDefect;
    /// Fewer bytes than the header and the signature.
    Short = "too-short",
    /// More bytes than any packet has.
    Long = "too-long",
    Foreign = "not-replication",
    /// Signed with a key number that we do not have.
    Key = "unknown-key",
    /// The signature does not match our key of that number.
    Signature = "wrong-signature",
    /// A version that we cannot read, by the sender's own declaration.
    Version = "other-version",
    /// The signature is valid, but the body does not follow the format.
    Fields = "malformed",
    /// Our own packet, sent back to us.
    Reflected = "reflected",
    /// From or for a process that has ended.
    Session = "other-session",
    /// The number is not above the newest: a copy, or a packet that was overtaken.
    Late = "late",
}
