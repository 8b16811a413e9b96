//! The shared hash secret of connections: how it travels, and which member's secret is used. Pure.
//!
//! Each member draws a secret of its own, so that attackers cannot choose connections that collide. Two members need
//! the same one to understand each other's hashes. The secret is sent sealed: it is combined with a value that only
//! holders of the heartbeat's key can derive, different for each process and each secret.

use super::datagram::{ReplicaDatagram, ReplicaHello};
use crate::keys::ClusterKeys;

pub type HashSecret = [u8; 32];

/// The tag by which holders of this key recognise a secret.
pub fn tag(secret: &HashSecret, key: u8, keys: &ClusterKeys) -> u64 {
    let made = keys.derive(key, &[b"steelyard flow secret, known by", secret]);
    let first = made.as_ref().and_then(|made| made.first_chunk::<8>());
    first.map_or(0, |first| u64::from_be_bytes(*first)).max(1)
}

/// Seals a secret, or opens a sealed one. The mask depends on the sender's process and the tag.
pub fn seal(
    secret: &HashSecret,
    from: u64,
    known: u64,
    key: u8,
    keys: &ClusterKeys,
) -> Option<HashSecret> {
    let parts: [&[u8]; 3] =
        [b"steelyard flow secret, sealed", &from.to_be_bytes(), &known.to_be_bytes()];
    let pad = keys.derive(key, &parts)?;
    Some(std::array::from_fn(|at| secret[at] ^ pad[at]))
}

/// The secret in a hello; `None` where it does not match its tag.
pub fn open_sealed(
    datagram: &ReplicaDatagram,
    hello: &ReplicaHello,
    keys: &ClusterKeys,
) -> Option<HashSecret> {
    let secret = seal(&hello.sealed, datagram.from, hello.tag, datagram.key, keys)?;
    (tag(&secret, datagram.key, keys) == hello.tag).then_some(secret)
}

/// Whose secret both members use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretOwner {
    /// The other member adopts this member's secret.
    Ours,
    /// We adopt the other member's.
    Theirs,
    /// Both members hold addresses, and neither can drop its connections: replication stops until one is on standby.
    Neither,
}

/// What a member's claim to the secret rests on.
#[derive(Clone, Copy, Debug)]
pub struct SecretClaim {
    /// The member holds addresses.
    pub active: bool,
    /// The session of the member's process, which breaks the tie if neither member holds addresses.
    pub session: u64,
}

/// The member whose connections would be lost owns the secret.
pub fn secret_owner(ours: SecretClaim, theirs: SecretClaim) -> SecretOwner {
    match (ours.active, theirs.active) {
        (true, true) => SecretOwner::Neither,
        (true, false) => SecretOwner::Ours,
        (false, true) => SecretOwner::Theirs,
        (false, false) if ours.session < theirs.session => SecretOwner::Ours,
        (false, false) => SecretOwner::Theirs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replica::datagram::{emit_hello, parse};

    fn keys(text: &str) -> ClusterKeys {
        ClusterKeys::parse(text).unwrap()
    }

    #[test]
    fn a_secret_arrives_sealed_even_while_keys_are_exchanged() {
        let one = "1 0123456789abcdef0123456789abcdef";
        let other = "2 fedcba9876543210fedcba9876543210";
        let ours = keys(&format!("{one}\n{other}"));
        let theirs = keys(&format!("{other}\n{one}"));
        let secret: HashSecret = std::array::from_fn(|at| at as u8);
        let known = tag(&secret, ours.signer(), &ours);
        let sealed = seal(&secret, 7, known, ours.signer(), &ours).unwrap();
        let hello = ReplicaHello { active: true, epoch: 1, synced_epoch: 0, tag: known, sealed };
        let bytes = emit_hello(7, 9, &hello, &ours);
        assert!(!bytes.windows(8).any(|window| window == &secret[..8]));
        let datagram = parse(&bytes, &theirs).unwrap();
        assert_eq!(open_sealed(&datagram, &hello, &theirs), Some(secret));
        let lied = ReplicaHello { tag: known ^ 1, ..hello };
        assert_eq!(open_sealed(&datagram, &lied, &theirs), None);
    }

    #[test]
    fn the_member_with_connections_keeps_its_secret() {
        let active = |session| SecretClaim { active: true, session };
        let standby = |session| SecretClaim { active: false, session };
        let rows = [
            (active(5), standby(9), SecretOwner::Ours),
            (standby(9), active(5), SecretOwner::Theirs),
            (standby(5), standby(9), SecretOwner::Ours),
            (standby(9), standby(5), SecretOwner::Theirs),
            (active(5), active(9), SecretOwner::Neither),
        ];
        for (ours, theirs, expected) in rows {
            assert_eq!(secret_owner(ours, theirs), expected, "{ours:?} {theirs:?}");
        }
    }
}
