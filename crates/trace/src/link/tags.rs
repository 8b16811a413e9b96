//! The path of a packet as one number, from its tags and tunnels.
//!
//! The number does not describe the path; it only shows whether two paths are equal.

/// Kinds of tags. Their values only have to differ; they appear nowhere outside.
pub const VLAN: u64 = 1;
pub const PPPOE: u64 = 2;
/// The key of a GRE tunnel.
pub const GRE_KEY: u64 = 3;
/// The network number of VXLAN or Geneve.
pub const OVERLAY: u64 = 5;
/// A tunnel between two addresses.
const TUNNEL: u64 = 4;

/// The path so far; 0: a packet without tags or tunnels.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathTags(u64);

impl PathTags {
    /// Adds a tag; the order matters.
    pub fn add(&mut self, kind: u64, value: u64) {
        self.0 = mix(self.0 ^ mix(kind.wrapping_shl(56) ^ value));
    }

    /// A tunnel between two addresses, in either direction.
    pub fn tunnel(&mut self, source: &[u8; 16], destination: &[u8; 16]) {
        self.add(TUNNEL, fold(source).wrapping_add(fold(destination)));
    }

    pub fn number(self) -> u64 {
        self.0
    }
}

fn fold(address: &[u8; 16]) -> u64 {
    let whole = u128::from_be_bytes(*address);
    mix((whole >> 64) as u64 ^ mix(whole as u64))
}

/// The finalizer of SplitMix64: every bit of the input changes half of the output's.
fn mix(mut value: u64) -> u64 {
    value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
