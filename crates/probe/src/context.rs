//! The context of a dialogue: what differs between the servers of a pool with the same probe plan.

use std::net::SocketAddr;

/// The context of one health check of one server.
#[derive(Clone, Debug)]
pub struct ProbeContext<'c> {
    pub address: SocketAddr,
    /// The server's name or address, with the port where it is not the protocol's usual one.
    pub host: &'c str,
    /// The contents of the secret's file, if the plan has one.
    pub secret: Option<&'c [u8]>,
    pub random: u64,
}

impl ProbeContext<'_> {
    /// Sixteen bytes derived from `random`, for nonces (RFC 2865 §3 recommends that they are unpredictable and unique
    /// over the secret's lifetime).
    pub fn nonce(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        // SplitMix64: two outputs of the state that `random` seeds.
        for (at, half) in bytes.chunks_exact_mut(8).enumerate() {
            let mut z =
                self.random.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(at as u64 + 1));
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            half.copy_from_slice(&(z ^ (z >> 31)).to_be_bytes());
        }
        bytes
    }
}
