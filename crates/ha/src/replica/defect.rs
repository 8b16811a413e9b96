//! What may be wrong with a packet of replication. It judges none.

use crate::defect::defects;

defects! {
    /// What is wrong with a packet of replication.
    pub enum ReplicaDefect;
    /// Fewer bytes than the head and the signature have.
    Short = "too-short",
    /// More bytes than any packet has.
    Long = "too-long",
    Foreign = "not-replication",
    /// Signed with a key of a number that we do not have.
    Key = "unknown-key",
    /// Not signed with our key of that number.
    Signature = "wrong-signature",
    /// A version that we cannot read, by its own word.
    Version = "other-version",
    /// The body is not what the form says, although the signature is right.
    Fields = "malformed",
    /// Our own, sent back to us.
    Reflected = "reflected",
    /// Of or for a process that is not the one of now.
    Session = "other-session",
    /// Its number is not above what came: a copy, or overtaken on its way.
    Late = "late",
}
