//! The addresses that may be answered now, encoded, and the choice of the first one.

use std::net::IpAddr;

use super::candidate::AnswerCandidate;
use super::record::{A, AAAA, build_record};
use super::turn_order::{mix, spread_turn};

/// Weights are multiplied by this number, so that the addresses of one candidate share its weight evenly. Every count
/// up to 16 except 11 and 13 divides it; for those two the rounding error is below 1 in 720,720.
const PARTS: u64 = 720_720;

/// How the first address is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectionOrder {
    /// Each address in turn; the turn's number.
    RoundRobin(u64),
    /// In proportion to weights; the turn's number.
    Weighted(u64),
    /// The same address for the same client, by weight (highest random weight); the client's hash.
    ClientHash(u64),
    First,
}

/// Addresses of one family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressSet {
    /// Whole records, one after the other, owned by the name in the question.
    records: Vec<u8>,
    size: usize,
    members: Vec<AddressMember>,
    total: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct AddressMember {
    /// Index of the address's candidate.
    candidate: u16,
    address: IpAddr,
    weight: u64,
    /// Sum of the weights up to this address.
    end: u64,
    key: u64,
}

impl AddressSet {
    /// The addresses of one family of these candidates. `even`: ignore weights.
    pub fn new<'c>(
        chosen: impl Iterator<Item = (usize, &'c AnswerCandidate)>,
        v6: bool,
        ttl: u32,
        even: bool,
    ) -> AddressSet {
        let mut set = AddressSet::default();
        for (who, candidate) in chosen {
            let ours = || candidate.addresses.iter().filter(|ip| ip.is_ipv6() == v6);
            let share = ours().count().max(1) as u64;
            for address in ours() {
                let weight = if even { 1 } else { u64::from(candidate.weight) };
                set.add(who, *address, weight * PARTS / share, ttl);
            }
        }
        set
    }

    fn add(&mut self, who: usize, address: IpAddr, weight: u64, ttl: u32) {
        let (kind, data) = match address {
            IpAddr::V4(v4) => (A, v4.octets().to_vec()),
            IpAddr::V6(v6) => (AAAA, v6.octets().to_vec()),
        };
        let record = build_record(kind, ttl, &data);
        self.size = record.len();
        self.records.extend(record);
        self.total += weight;
        self.members.push(AddressMember {
            candidate: u16::try_from(who).unwrap_or(u16::MAX),
            address,
            weight,
            end: self.total,
            key: model::hash::hash_client(address),
        });
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The position of the first address; 0 for an empty set.
    #[inline]
    pub fn pick(&self, order: SelectionOrder) -> usize {
        let count = self.members.len();
        if count < 2 {
            return 0;
        }
        match order {
            SelectionOrder::First => 0,
            SelectionOrder::RoundRobin(turn) => (turn % count as u64) as usize,
            SelectionOrder::Weighted(turn) => {
                let place = spread_turn(turn, self.total);
                self.members.partition_point(|member| member.end <= place).min(count - 1)
            }
            SelectionOrder::ClientHash(client) => self.rendezvous_member(client),
        }
    }

    /// The member with the highest score for a client. When a member is removed, only its own clients move (weighted
    /// rendezvous hashing).
    fn rendezvous_member(&self, client: u64) -> usize {
        let score = |member: &AddressMember| {
            let draw = mix(client ^ member.key);
            // In (0, 1]; the logarithm is not positive, so a greater weight moves the score towards 0.
            let unit = ((draw >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
            unit.ln() / member.weight.max(1) as f64
        };
        let scored = self.members.iter().map(score).enumerate();
        scored.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(at, _)| at)
    }

    #[inline]
    pub fn record_bytes(&self, at: usize) -> &[u8] {
        self.records.get(at * self.size..(at + 1) * self.size).unwrap_or_default()
    }

    #[inline]
    pub fn candidate(&self, at: usize) -> Option<usize> {
        self.members.get(at).map(|member| usize::from(member.candidate))
    }

    pub fn address(&self, at: usize) -> Option<IpAddr> {
        self.members.get(at).map(|member| member.address)
    }

    /// The address's part of all weights, 0–1.
    pub fn share(&self, at: usize) -> f64 {
        let weight = self.members.get(at).map_or(0, |member| member.weight);
        weight as f64 / self.total.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(weights: &[u16]) -> AddressSet {
        let candidates: Vec<AnswerCandidate> = weights
            .iter()
            .enumerate()
            .map(|(at, weight)| AnswerCandidate {
                name: format!("c{at}"),
                addresses: vec![IpAddr::from([10, 0, 0, at as u8])],
                port: 0,
                weight: *weight,
                up: true,
                reason: String::new(),
            })
            .collect();
        AddressSet::new(candidates.iter().enumerate(), false, 5, false)
    }

    #[test]
    fn addresses_of_one_site_share_its_weight() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let one = |addresses: Vec<IpAddr>| AnswerCandidate {
            name: "s".into(),
            addresses,
            port: 0,
            weight: 1,
            up: true,
            reason: String::new(),
        };
        let sites = [
            one(vec![ip("10.0.0.1"), ip("10.0.0.2"), ip("2001:db8::1")]),
            one(vec![ip("10.0.0.3")]),
        ];
        let v4 = AddressSet::new(sites.iter().enumerate(), false, 5, false);
        assert_eq!([0, 1, 2].map(|at| v4.share(at)), [0.25, 0.25, 0.5]);
        assert_eq!(v4.record_bytes(1)[12..], [10, 0, 0, 2]);
        assert_eq!((v4.candidate(2), v4.record_bytes(3)), (Some(1), &[][..]));
        let v6 = AddressSet::new(sites.iter().enumerate(), true, 5, false);
        assert_eq!((v6.len(), v6.record_bytes(0).len()), (1, 28));
    }

    proptest! {
        #[test]
        fn weighted_shares_are_within_bounds_after_any_number_of_answers(
            weights in proptest::collection::vec(0u16..=256, 2..12),
            first in any::<u64>(),
            answers in 1u64..3_000,
        ) {
            let set = set(&weights);
            let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
            prop_assume!(total > 0);
            let mut hits = vec![0u64; weights.len()];
            for turn in 0..answers {
                hits[set.pick(SelectionOrder::Weighted(first.wrapping_add(turn)))] += 1;
            }
            for (hits, weight) in hits.iter().zip(&weights) {
                let fair = answers as f64 * f64::from(*weight) / total as f64;
                // The error of the golden-ratio sequence, for up to millions of turns.
                prop_assert!((*hits as f64 - fair).abs() <= 14.0, "{hits} instead of {fair}");
                prop_assert!(*weight > 0 || *hits == 0);
            }
        }

        #[test]
        fn turns_are_even(count in 1usize..9, first in any::<u32>()) {
            let set = set(&vec![1; count]);
            let first = u64::from(first);
            let picked: std::collections::BTreeSet<usize> =
                (0..count as u64).map(|turn| set.pick(SelectionOrder::RoundRobin(first + turn))).collect();
            prop_assert_eq!(picked.len(), count);
        }

        /// Only the clients of the removed member move.
        #[test]
        fn a_client_stays_while_its_keeper_is_there(client in any::<u64>(), gone in 0usize..6) {
            let whole = set(&[1, 2, 3, 4, 5, 6]);
            let keeper = whole.address(whole.pick(SelectionOrder::ClientHash(client)));
            let mut weights: Vec<u16> = vec![1, 2, 3, 4, 5, 6];
            weights[gone] = 0;
            let candidates: Vec<AnswerCandidate> = (0..6u8).map(|at| AnswerCandidate {
                name: String::new(),
                addresses: vec![IpAddr::from([10, 0, 0, at])],
                port: 0,
                weight: weights[usize::from(at)],
                up: true,
                reason: String::new(),
            }).collect();
            let left = candidates.iter().enumerate().filter(|(at, _)| *at != gone);
            let left = AddressSet::new(left, false, 5, false);
            let now = left.address(left.pick(SelectionOrder::ClientHash(client)));
            let lost = keeper == Some(IpAddr::from([10, 0, 0, gone as u8]));
            prop_assert_eq!(now == keeper, !lost);
        }
    }

    #[test]
    fn keepers_are_shared_out_by_weight() {
        let set = set(&[1, 3]);
        let heavy = (0..20_000u64)
            .filter(|client| set.pick(SelectionOrder::ClientHash(mix(*client))) == 1)
            .count();
        assert!((14_500..15_500).contains(&heavy), "{heavy}");
    }
}
