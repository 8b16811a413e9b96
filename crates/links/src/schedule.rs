//! The order in which links take turns: a short list of link numbers that the kernel walks, or picks from by a hash.
//! Pure.
//!
//! Each link has turns in proportion to its capacity, spread evenly over the list: smooth weighted round robin, as for
//! servers.

use model::config::LinkPolicy;

/// Links of a bundle at most; the size of the array in the program's maps.
/// Two cards with four ports each.
pub const LINKS: usize = 8;
/// Turns in the list at most; a power of two, because the kernel's program masks with it.
/// A weight of one in 64 is the finest share.
pub const SLOTS: usize = 64;

/// A list of turns; empty when no link is alive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSchedule(Vec<u8>);

/// A link as the schedule sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledLink {
    pub alive: bool,
    /// Bits a second; 0: the same as all others.
    pub capacity: u64,
}

impl LinkSchedule {
    /// The turns of these links, in the order of the configuration; links beyond [`LINKS`] have none.
    pub fn from_policy(policy: LinkPolicy, links: &[ScheduledLink]) -> LinkSchedule {
        let links = &links[..links.len().min(LINKS)];
        let living = || links.iter().zip(0_u8..).filter(|(link, _)| link.alive);
        if policy == LinkPolicy::Failover {
            return LinkSchedule(living().take(1).map(|(_, number)| number).collect());
        }
        let capacities: Vec<u64> = living().map(|(link, _)| link.capacity.max(1)).collect();
        let order = smooth_turns(&turns_by_capacity(&capacities));
        let numbers: Vec<u8> = living().map(|(_, number)| number).collect();
        LinkSchedule(order.into_iter().filter_map(|at| numbers.get(at).copied()).collect())
    }

    /// Numbers of links, at most [`SLOTS`].
    pub fn slots(&self) -> &[u8] {
        &self.0
    }

    /// The link for a turn's number or a hash; `None`: no link is alive.
    pub fn pick(&self, number: u64) -> Option<u8> {
        let length = u32::try_from(self.0.len()).ok().filter(|length| *length > 0)?;
        // As in the kernel's program: both halves count, because a hash has its bits in both.
        let folded = (number ^ (number >> 32)) as u32;
        self.0.get((folded % length) as usize).copied()
    }
}

/// Turns for each capacity: exact where the ratio fits the list, else by largest remainders; at least one.
fn turns_by_capacity(capacities: &[u64]) -> Vec<usize> {
    let common = capacities.iter().copied().fold(0, gcd).max(1);
    let reduced: Vec<u64> = capacities.iter().map(|one| one / common).collect();
    let sum: u128 = reduced.iter().map(|one| u128::from(*one)).sum();
    if sum <= SLOTS as u128 {
        return reduced.iter().map(|one| usize::try_from(*one).unwrap_or(SLOTS)).collect();
    }
    let slots = SLOTS as u128;
    let mut out: Vec<usize> = reduced
        .iter()
        .map(|one| usize::try_from(u128::from(*one) * slots / sum).unwrap_or(SLOTS).max(1))
        .collect();
    let mut rest: Vec<usize> = (0..out.len()).collect();
    rest.sort_by_key(|at| std::cmp::Reverse((u128::from(reduced[*at]) * slots) % sum));
    for at in rest {
        if out.iter().sum::<usize>() >= SLOTS {
            break;
        }
        out[at] += 1;
    }
    while out.iter().sum::<usize>() > SLOTS {
        let Some(most) = out.iter_mut().max() else { break };
        *most -= 1;
    }
    out
}

/// Each index as often as its weight, spread as evenly as possible.
fn smooth_turns(weights: &[usize]) -> Vec<usize> {
    let total: i64 = weights.iter().map(|weight| *weight as i64).sum();
    let mut current = vec![0_i64; weights.len()];
    let mut out = Vec::new();
    for _ in 0..total {
        for (now, weight) in current.iter_mut().zip(weights) {
            *now += *weight as i64;
        }
        let best = (0..current.len()).max_by_key(|at| (current[*at], std::cmp::Reverse(*at)));
        let Some(best) = best else { break };
        current[best] -= total;
        out.push(best);
    }
    out
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn links(of: &[(bool, u64)]) -> Vec<ScheduledLink> {
        of.iter()
            .map(|(alive, capacity)| ScheduledLink { alive: *alive, capacity: *capacity })
            .collect()
    }

    fn slots(policy: LinkPolicy, of: &[(bool, u64)]) -> Vec<u8> {
        LinkSchedule::from_policy(policy, &links(of)).slots().to_vec()
    }

    #[test]
    fn rows() {
        use LinkPolicy::{Failover, RoundRobin};
        let row = |of: &[(bool, u64)]| slots(RoundRobin, of);
        assert_eq!(row(&[(true, 0), (true, 0)]), [0, 1]);
        assert_eq!(row(&[(true, 0), (false, 0)]), [0]);
        assert_eq!(row(&[(false, 0), (true, 0), (true, 0)]), [1, 2]);
        assert_eq!(row(&[(true, 1_000_000_000), (true, 500_000_000)]), [0, 1, 0]);
        assert_eq!(row(&[(true, 3), (true, 1)]), [0, 0, 1, 0]);
        assert_eq!(row(&[(false, 1), (false, 1)]), [] as [u8; 0]);
        assert_eq!(slots(Failover, &[(true, 1), (true, 9)]), [0]);
        assert_eq!(slots(Failover, &[(false, 1), (true, 9)]), [1]);
        assert_eq!(slots(Failover, &[]), [] as [u8; 0]);
    }

    #[test]
    fn an_odd_ratio_is_met_within_a_slot() {
        let all = slots(LinkPolicy::Hash, &[(true, 9_973), (true, 7_919)]);
        let first = all.iter().filter(|one| **one == 0).count();
        assert_eq!((all.len(), first), (SLOTS, 36));
        let tiny = slots(LinkPolicy::Hash, &[(true, 1_000_000), (true, 1)]);
        assert_eq!(tiny.iter().filter(|one| **one == 1).count(), 1, "nobody is left out");
    }

    #[test]
    fn a_pick_walks_the_turns_and_folds_a_hash() {
        let schedule =
            LinkSchedule::from_policy(LinkPolicy::RoundRobin, &links(&[(true, 2), (true, 1)]));
        let walk: Vec<u8> = (0..6).filter_map(|number| schedule.pick(number)).collect();
        assert_eq!(walk, [0, 1, 0, 0, 1, 0]);
        assert_eq!(schedule.pick(1 << 32), schedule.pick(1));
        assert_eq!(LinkSchedule::default().pick(7), None);
    }

    proptest! {
        #[test]
        fn every_living_link_has_turns_and_no_dead_one(
            of in prop::collection::vec((any::<bool>(), 0..u64::MAX), 0..12)
        ) {
            let all = slots(LinkPolicy::RoundRobin, &of);
            prop_assert!(all.len() <= SLOTS);
            for (number, (alive, _)) in of.iter().enumerate().take(LINKS) {
                prop_assert_eq!(*alive, all.contains(&(number as u8)));
            }
        }
    }
}
