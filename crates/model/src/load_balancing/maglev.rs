//! Maglev: a table that maps equal clients to equal servers. Few clients move when servers are added or removed
//! (Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016, §3.4).
//!
//! The table depends on names, weights and size alone, so that all workers, planes and members agree. The construction,
//! exactly, for a table of `M` entries (`M` prime):
//!
//! 1. Each server has a permutation of the entries: the `j`-th is `(offset + j·stride) mod M`, with
//!    `offset = hash(name, Offset) mod M` and `stride = hash(name, Stride) mod (M − 1) + 1`; `hash` is the published
//!    one of `model::hash`.
//! 2. Servers are sorted by weight, largest first, then by the bytes of their names.
//! 3. In round `r` = 1, 2, … a server of weight `w` has a turn when `⌊r·w/w₁⌋ > ⌊(r−1)·w/w₁⌋`, where `w₁` is the
//!    largest weight; turns are taken in the sorted order. At its turn a server takes the first free entry of its
//!    permutation. The construction ends with the last free entry.
//!
//! A client has the entry `hash(address, Client) mod M`, or that of the hash of what `hash-on` names. If its server
//! cannot take the exchange, the client steps to the next entries, in turn. Connections are not remembered here:
//! `sticky` tables do that.

use crate::hash::{self, HashPurpose};
use crate::snapshot::PoolView;

use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};

/// Entries that a pick steps through before it looks at every server: bounds its cost when many servers are full.
/// A full server is skipped after one step; 64 full ones in a row mean a pool that is nearly full.
const STEPS: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Maglev {
    size: u32,
    /// Names and weights that the table was made of, in the order of the eligible.
    members: Vec<MaglevMember>,
    /// Positions among the eligible; empty if there is none.
    entries: Vec<u32>,
}

/// A server that a table is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaglevMember {
    pub name: String,
    /// Servers of weight 0 get no entry.
    pub weight: u16,
}

impl Maglev {
    pub fn new(eligible: &EligibleServers, view: &PoolView, size: u32) -> Maglev {
        let members = members(eligible, view);
        let entries = build_table(&members, size);
        Maglev { size, members, entries }
    }

    /// Rebuilds the table unless the names and weights of the eligible are the same.
    pub fn refresh(&mut self, eligible: &EligibleServers, view: &PoolView, size: u32) {
        if self.size != size || self.members != members(eligible, view) {
            *self = Maglev::new(eligible, view, size);
        }
    }

    /// The server for a key: the hash of a client's address, or of what `hash-on` names.
    #[inline]
    pub fn pick(
        &self,
        eligible: &EligibleServers,
        view: &PoolView,
        ask: &PickRequest,
        key: u64,
    ) -> PickResult {
        let size = self.entries.len();
        if size == 0 {
            return PickResult::None;
        }
        match self.find_from_entry(eligible, view, ask, key, |_| true) {
            Some(at) => eligible.choice(at),
            None => {
                let first = (key % size as u64) as usize;
                eligible.first_available(view, ask, self.entries[first] as usize + 1)
            }
        }
    }

    /// The first server from the key's entry on that may get the exchange and fulfils the condition; `None`: not among
    /// the next entries.
    #[inline]
    pub fn find_from_entry(
        &self,
        eligible: &EligibleServers,
        view: &PoolView,
        ask: &PickRequest,
        key: u64,
        so: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let size = self.entries.len();
        let first = key.checked_rem(size as u64)? as usize;
        let mut refused = None;
        for step in 0..STEPS.min(size) {
            let at = self.entries[(first + step) % size] as usize;
            if refused == Some(at) {
                continue;
            }
            if eligible.may_take(view, ask, at) && so(at) {
                return Some(at);
            }
            refused = Some(at);
        }
        None
    }
}

fn members(eligible: &EligibleServers, view: &PoolView) -> Vec<MaglevMember> {
    let name = |index: usize| view.servers.get(index).map(|server| server.config.name.clone());
    eligible
        .servers
        .iter()
        .map(|slot| MaglevMember {
            name: name(slot.index).unwrap_or_default(),
            weight: slot.weight,
        })
        .collect()
}

/// The table for these names and weights: each entry is an index into `members`. Members of weight 0 get no entry; the
/// table is empty if all weights are 0. Permutations need a prime size, so another size is raised to the next prime
/// (the configuration accepts primes only). The order of `members` does not matter.
pub fn build_table(members: &[MaglevMember], size: u32) -> Vec<u32> {
    let size = prime_from(size);
    let mut order: Vec<usize> = (0..members.len()).filter(|at| members[*at].weight > 0).collect();
    order.sort_by(|a, b| {
        let first = &members[*a];
        let second = &members[*b];
        second.weight.cmp(&first.weight).then_with(|| first.name.cmp(&second.name))
    });
    let Some(largest) = order.first().map(|at| u64::from(members[*at].weight)) else {
        return Vec::new();
    };
    let mut walks: Vec<MaglevPermutation> =
        order.iter().map(|at| MaglevPermutation::new(&members[*at].name, size)).collect();
    let mut entries = vec![FREE; size as usize];
    let mut free = size;
    for round in 1u64.. {
        let mut from = 0;
        while from < order.len() {
            let weight = members[order[from]].weight;
            let to = from + order[from..].partition_point(|at| members[*at].weight == weight);
            let turns = |round: u64| round * u64::from(weight) / largest;
            if turns(round) > turns(round - 1) {
                for (walk, owner) in walks[from..to].iter_mut().zip(&order[from..to]) {
                    walk.claim(&mut entries, *owner as u32);
                    free -= 1;
                    if free == 0 {
                        return entries;
                    }
                }
            }
            from = to;
        }
    }
    entries
}

const FREE: u32 = u32::MAX;

/// The permutation of the table that one server follows.
struct MaglevPermutation {
    next: u64,
    stride: u64,
}

impl MaglevPermutation {
    fn new(name: &str, size: u32) -> MaglevPermutation {
        let size = u64::from(size);
        MaglevPermutation {
            next: hash::hash_name(name, HashPurpose::Offset) % size,
            stride: hash::hash_name(name, HashPurpose::Stride) % (size - 1) + 1,
        }
    }

    /// Claims the first free entry from here on. There is one, because the table is not full.
    fn claim(&mut self, entries: &mut [u32], owner: u32) {
        let size = entries.len() as u64;
        loop {
            let at = self.next as usize;
            self.next += self.stride;
            if self.next >= size {
                self.next -= size;
            }
            if entries[at] == FREE {
                entries[at] = owner;
                return;
            }
        }
    }
}

/// The smallest prime that is not below `n`, and not below 3: a stride needs one.
fn prime_from(n: u32) -> u32 {
    let mut candidate = n.max(3);
    while !is_prime(candidate) {
        // 4,294,967,291 is the largest prime of 32 bits.
        candidate = candidate.checked_add(1).unwrap_or(4_294_967_291);
    }
    candidate
}

fn is_prime(n: u32) -> bool {
    let n = u64::from(n);
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| n % d != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes() {
        for (from, want) in
            [(0, 3), (3, 3), (4, 5), (16_381, 16_381), (16_382, 16_411), (u32::MAX, 4_294_967_291)]
        {
            assert_eq!(prime_from(from), want);
        }
    }
}
