//! Keys and values of the maps of `bpf/bundle.bpf.c`, to bytes and back. The program defines their meaning.

use std::net::{Ipv4Addr, Ipv6Addr};

use bpf::MapValue;
use model::config::LinkPolicy;

use crate::schedule::{LINKS, SLOTS};

/// Flags of a link.
const ALIVE: u32 = 1;
const HOLDS_PACKETS: u32 = 2;
const HAS_V4: u32 = 4;
const HAS_V6: u32 = 8;

/// Bytes of a link.
const MEMBER: usize = 32;
/// Where the links begin.
const MEMBERS: usize = 16 + SLOTS;

/// A link in the kernel's map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BundleMember {
    pub ifindex: u32,
    /// The link may get packets.
    pub alive: bool,
    /// The link's packets are held first.
    pub holds_packets: bool,
    /// The link's next hop for IPv4.
    pub v4: Option<Ipv4Addr>,
    pub v6: Option<Ipv6Addr>,
}

/// A bundle in the kernel's map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleEntry {
    pub policy: LinkPolicy,
    /// The list of turns, at most [`SLOTS`].
    pub slots: Vec<u8>,
    /// Silence after which a flow may change links, in nanoseconds.
    pub gap: u64,
    pub members: Vec<BundleMember>,
}

impl BundleEntry {
    /// A bundle without links.
    pub fn empty() -> BundleEntry {
        BundleEntry { policy: LinkPolicy::Hash, slots: Vec::new(), gap: 0, members: Vec::new() }
    }
}

impl MapValue for BundleEntry {
    const SIZE: usize = MEMBERS + LINKS * MEMBER;

    fn write(&self, out: &mut [u8]) {
        out[..BundleEntry::SIZE].fill(0);
        let policy: u32 = match self.policy {
            LinkPolicy::RoundRobin => 0,
            LinkPolicy::Hash => 1,
            LinkPolicy::Flowlet => 2,
            LinkPolicy::Failover => 3,
        };
        policy.write(out);
        (self.slots.len().min(SLOTS) as u32).write(&mut out[4..]);
        self.gap.write(&mut out[8..]);
        for (to, slot) in out[16..MEMBERS].iter_mut().zip(&self.slots) {
            *to = *slot;
        }
        for (to, member) in out[MEMBERS..].chunks_exact_mut(MEMBER).zip(&self.members).take(LINKS) {
            member.write_to(to);
        }
    }

    fn read(bytes: &[u8]) -> BundleEntry {
        let length = (u32::read(&bytes[4..]) as usize).min(SLOTS);
        let members =
            bytes[MEMBERS..BundleEntry::SIZE].chunks_exact(MEMBER).map(BundleMember::read_from);
        BundleEntry {
            policy: match u32::read(bytes) {
                0 => LinkPolicy::RoundRobin,
                2 => LinkPolicy::Flowlet,
                3 => LinkPolicy::Failover,
                _ => LinkPolicy::Hash,
            },
            slots: bytes[16..16 + length].to_vec(),
            gap: u64::read(&bytes[8..]),
            members: members.filter(|member| member.ifindex > 0).collect(),
        }
    }
}

impl BundleMember {
    fn write_to(&self, out: &mut [u8]) {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        let flags = flag(self.alive, ALIVE)
            | flag(self.holds_packets, HOLDS_PACKETS)
            | flag(self.v4.is_some(), HAS_V4)
            | flag(self.v6.is_some(), HAS_V6);
        self.ifindex.write(out);
        flags.write(&mut out[4..]);
        // Addresses are in network byte order.
        out[8..12].copy_from_slice(&self.v4.unwrap_or(Ipv4Addr::UNSPECIFIED).octets());
        out[16..32].copy_from_slice(&self.v6.unwrap_or(Ipv6Addr::UNSPECIFIED).octets());
    }

    fn read_from(bytes: &[u8]) -> BundleMember {
        let flags = u32::read(&bytes[4..]);
        let mut v4 = [0; 4];
        let mut v6 = [0; 16];
        v4.copy_from_slice(&bytes[8..12]);
        v6.copy_from_slice(&bytes[16..32]);
        BundleMember {
            ifindex: u32::read(bytes),
            alive: flags & ALIVE != 0,
            holds_packets: flags & HOLDS_PACKETS != 0,
            v4: (flags & HAS_V4 != 0).then(|| v4.into()),
            v6: (flags & HAS_V6 != 0).then(|| v6.into()),
        }
    }
}

/// The owner of a slot in the maps, and which of its two copies is active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BundleSlot {
    /// The interface's index; 0: the slot is free.
    pub ifindex: u32,
    pub active_copy: u32,
}

impl MapValue for BundleSlot {
    /// Two 32-bit words, as in the BPF program.
    const SIZE: usize = 8;

    fn write(&self, out: &mut [u8]) {
        self.ifindex.write(out);
        self.active_copy.write(&mut out[4..]);
    }

    fn read(bytes: &[u8]) -> BundleSlot {
        BundleSlot { ifindex: u32::read(bytes), active_copy: u32::read(&bytes[4..]) }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCount {
    pub packets: u64,
    /// Bytes of whole frames.
    pub bytes: u64,
}

impl MapValue for PacketCount {
    /// Two 64-bit words, as in the BPF program.
    const SIZE: usize = 16;

    fn write(&self, out: &mut [u8]) {
        self.packets.write(out);
        self.bytes.write(&mut out[8..]);
    }

    fn read(bytes: &[u8]) -> PacketCount {
        PacketCount { packets: u64::read(bytes), bytes: u64::read(&bytes[8..]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_round_trips() {
        let member = BundleMember {
            ifindex: 7,
            alive: true,
            holds_packets: true,
            v4: Some([10, 0, 0, 1].into()),
            v6: Some("fd00::1".parse().unwrap()),
        };
        let entry = BundleEntry {
            policy: LinkPolicy::Flowlet,
            slots: vec![0, 1, 0],
            gap: 12_000_000,
            members: vec![
                member,
                BundleMember { ifindex: 8, v6: None, holds_packets: false, ..member },
            ],
        };
        assert_eq!((BundleEntry::SIZE, entry.bytes().len()), (336, 336));
        assert_eq!(BundleEntry::read(&entry.bytes()), entry);
        let count = PacketCount { packets: 1, bytes: 2 };
        assert_eq!(PacketCount::read(&count.bytes()), count);
        let place = BundleSlot { ifindex: 3, active_copy: 1 };
        assert_eq!(BundleSlot::read(&place.bytes()), place);
    }
}
