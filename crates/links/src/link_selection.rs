//! Which link a packet takes: the same arithmetic as in `bpf/bundle.bpf.c`. Tests compare both; the kernel's program
//! does the work. Pure.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use model::config::LinkPolicy;
use model::monotonic_time::MonotonicTime;

use crate::schedule::LinkSchedule;

/// The parts of a packet that the choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketKey {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// The protocol above IP.
    pub protocol: u8,
    /// 0 for protocols without ports, and for fragments.
    pub source_port: u16,
    /// 0 for protocols without ports, and for fragments.
    pub destination_port: u16,
    /// The datagram's identification, for fragments.
    pub fragment: Option<u32>,
}

/// How long the fragments of a datagram follow the first one.
pub const FRAGMENT_TIMEOUT: Duration = Duration::from_secs(1);

/// The link that a flow or a datagram took last.
#[derive(Clone, Copy, Debug)]
struct TakenLink {
    taken_at: MonotonicTime,
    link: u8,
}

/// The state of all policies.
#[derive(Debug, Default)]
pub struct LinkSelector {
    turn: u64,
    flowlets: HashMap<u16, TakenLink>,
    datagrams: HashMap<u64, TakenLink>,
}

impl PacketKey {
    /// The hash of the flow. Fragments form a flow of their own, because later ones have no ports.
    pub fn flow_hash(&self) -> u64 {
        let mut hash = SEED;
        match (self.source, self.destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                hash = mix(hash, u64::from(from.to_bits()) << 32 | u64::from(to.to_bits()));
            }
            (from, to) => {
                for ip in [from, to] {
                    let bits = match ip {
                        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
                        IpAddr::V6(v6) => v6.to_bits(),
                    };
                    hash = mix(mix(hash, (bits >> 64) as u64), bits as u64);
                }
            }
        }
        let ports = u64::from(self.source_port) << 16 | u64::from(self.destination_port);
        let ports = if self.fragment.is_some() { 0 } else { ports };
        mix(hash, u64::from(self.protocol) << 32 | ports)
    }
}

impl LinkSelector {
    /// The link of a packet; `alive` contains the usable links. `None`: no link is alive.
    pub fn select_link(
        &mut self,
        policy: LinkPolicy,
        schedule: &LinkSchedule,
        gap: Duration,
        packet: &PacketKey,
        now: MonotonicTime,
    ) -> Option<u8> {
        let flow = packet.flow_hash();
        match policy {
            LinkPolicy::Hash => schedule.pick(flow),
            LinkPolicy::Failover => schedule.pick(0),
            LinkPolicy::RoundRobin | LinkPolicy::Flowlet => {
                let datagram = packet.fragment.map(|number| mix(flow, u64::from(number)));
                if let Some(link) =
                    datagram.and_then(|key| self.follow_fragments(key, schedule, now))
                {
                    return Some(link);
                }
                let link = if policy == LinkPolicy::Flowlet {
                    self.follow_flowlet(flow, schedule, gap, now)
                } else {
                    self.next_turn(schedule)
                }?;
                if let Some(key) = datagram {
                    self.datagrams.insert(key, TakenLink { taken_at: now, link });
                }
                Some(link)
            }
        }
    }

    fn follow_fragments(
        &self,
        key: u64,
        schedule: &LinkSchedule,
        now: MonotonicTime,
    ) -> Option<u8> {
        let TakenLink { taken_at, link } = self.datagrams.get(&key)?;
        (now.since(*taken_at) < FRAGMENT_TIMEOUT && schedule.slots().contains(link))
            .then_some(*link)
    }

    fn follow_flowlet(
        &mut self,
        flow: u64,
        schedule: &LinkSchedule,
        gap: Duration,
        now: MonotonicTime,
    ) -> Option<u8> {
        // Flows that share an entry count as one flow.
        let entry = flow as u16;
        let current_link = self.flowlets.get(&entry).copied();
        let current_link = current_link.filter(|taken| {
            now.since(taken.taken_at) < gap && schedule.slots().contains(&taken.link)
        });
        let link = match current_link {
            Some(TakenLink { link, .. }) => link,
            None => self.next_turn(schedule)?,
        };
        self.flowlets.insert(entry, TakenLink { taken_at: now, link });
        Some(link)
    }

    fn next_turn(&mut self, schedule: &LinkSchedule) -> Option<u8> {
        let turn = self.turn;
        self.turn = turn.wrapping_add(1);
        schedule.pick(turn)
    }
}

/// The start of the hash: digits of pi, an arbitrary constant without a hidden choice.
const SEED: u64 = 0x243f_6a88_85a3_08d3;

/// One step of the hash: the multiplication spreads low bits upwards, the shifts bring them back.
fn mix(hash: u64, word: u64) -> u64 {
    let mut hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::ScheduledLink;

    fn two(alive: [bool; 2]) -> LinkSchedule {
        let links = alive.map(|alive| ScheduledLink { alive, capacity: 0 });
        LinkSchedule::from_policy(LinkPolicy::RoundRobin, &links)
    }

    fn packet(port: u16) -> PacketKey {
        PacketKey {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            protocol: 6,
            source_port: port,
            destination_port: 80,
            fragment: None,
        }
    }

    const GAP: Duration = Duration::from_millis(10);

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime(ms * 1_000_000)
    }

    #[test]
    fn a_flow_of_a_hash_stays_and_many_flows_spread() {
        let schedule = two([true, true]);
        let mut chooser = LinkSelector::default();
        let mut link = |port| {
            chooser.select_link(LinkPolicy::Hash, &schedule, GAP, &packet(port), at(0)).unwrap()
        };
        assert_eq!(link(1), link(1));
        let first = (0..10_000).filter(|port| link(*port) == 0).count();
        assert!((4_800..5_200).contains(&first), "{first}");
    }

    #[test]
    fn a_flowlet_changes_links_after_silence_or_when_its_link_dies() {
        let mut chooser = LinkSelector::default();
        let mut link = |schedule: &LinkSchedule, ms| {
            chooser.select_link(LinkPolicy::Flowlet, schedule, GAP, &packet(1), at(ms)).unwrap()
        };
        let both = two([true, true]);
        assert_eq!([0, 5, 14, 23].map(|ms| link(&both, ms)), [0, 0, 0, 0]);
        assert_eq!([33, 40].map(|ms| link(&both, ms)), [1, 1], "ten milliseconds of silence");
        assert_eq!(link(&two([true, false]), 41), 0);
        assert_eq!(link(&both, 45), 0);
    }

    #[test]
    fn all_fragments_of_a_datagram_take_one_link() {
        let schedule = two([true, true]);
        let mut chooser = LinkSelector::default();
        let mut link = |number| {
            let packet = PacketKey { fragment: Some(number), protocol: 17, ..packet(1) };
            chooser.select_link(LinkPolicy::RoundRobin, &schedule, GAP, &packet, at(0)).unwrap()
        };
        let links: Vec<u8> = [1, 1, 2, 2, 3, 3, 1].map(&mut link).into();
        assert_eq!(links, [0, 0, 1, 1, 0, 0, 0]);
    }
}
