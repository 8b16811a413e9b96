//! Smooth weighted round-robin: an endless sequence of turns in which each server has its share at every moment,
//! not only in the end.
//!
//! The usual smooth algorithm adds every server's weight at each choice, which costs a look at every server; the
//! whole sequence written down would have up to 256 turns a server. Here servers of equal weight form a class and
//! take the class's turns one after the other; turns are dealt to classes by earliest deadline. With `W` the sum
//! of all weights and `S` that of a class, its `k`-th turn of a cycle may not come before turn `⌊k·W/S⌋` and is due
//! by `⌈(k+1)·W/S⌉`. One processor meets such deadlines at full load (Liu and Layland 1973; the windows are those of
//! Baruah et al., "Proportionate progress", 1996), hence a class is never a whole turn ahead of or behind its share, and
//! any `W` turns in a row hold exactly `w` turns of each server of weight `w`.
//!
//! A choice costs a look at each class: one when weights are equal, at most 256. Every worker has its own order
//! within classes and its own beginning, so that workers do not visit servers in step. A server that cannot take
//! its turn loses it; it is not made up for later. It does not look at load.

use crate::id::ServerId;
use crate::snapshot::PoolView;

use super::ask::{Ask, Choice};
use super::eligible::Eligible;
use super::rng::{Rng, mix};

/// Turns offered before every server is looked at in turn.
const TURNS: usize = 16;
/// The first turn of a worker is drawn from this many.
const BEGINNINGS: u64 = 256;

#[derive(Clone, Debug)]
pub(super) struct RoundRobin {
    seed: u64,
    rng: Rng,
    /// By weight, largest first.
    classes: Vec<Class>,
    /// Turns in a cycle: the sum of all weights.
    cycle: i64,
    /// The turn that comes next.
    turn: i64,
}

/// Servers of one weight.
#[derive(Clone, Debug)]
struct Class {
    weight: u16,
    /// In the order of `rank`.
    ring: Vec<Member>,
    /// Who of the ring has the class's next turn.
    next: usize,
    /// Turns in a cycle: the sum of the members' weights.
    share: i64,
    /// The turn at which the class's present cycle began.
    origin: i64,
    /// Turns had in the present cycle.
    had: i64,
    /// The turn before which the class may not have its next.
    release: i64,
    /// The turn by which it is due.
    deadline: i64,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    rank: u64,
    at: usize,
}

impl RoundRobin {
    pub fn new(eligible: &Eligible, seed: u64) -> RoundRobin {
        let mut rng = Rng::new(mix(seed));
        let mut classes = classes(eligible, seed);
        let cycle = classes.iter().map(|class| class.share).sum();
        for class in &mut classes {
            class.next = rng.below(class.ring.len() as u64) as usize;
            class.set_window(cycle);
        }
        let mut made = RoundRobin { seed, rng, classes, cycle, turn: 0 };
        for _ in 0..made.rng.below(BEGINNINGS) {
            made.deal();
        }
        made
    }

    /// Takes new servers and weights. A class that stays keeps how far it is ahead or behind, and who is next; a
    /// new class begins somewhere within its first interval, or else every worker would send to it first.
    pub fn refresh(&mut self, eligible: &Eligible) {
        let mut new = classes(eligible, self.seed);
        let cycle: i64 = new.iter().map(|class| class.share).sum();
        for class in &mut new {
            let interval = cycle / class.share;
            match self.classes.iter().find(|old| old.weight == class.weight) {
                Some(old) => {
                    let ahead = old.had * self.cycle - (self.turn - old.origin) * old.share;
                    class.origin =
                        (ahead * cycle / (self.cycle * class.share)).clamp(-interval, interval);
                    let rank = old.ring[old.next].rank;
                    class.next =
                        class.ring.partition_point(|member| member.rank < rank) % class.ring.len();
                }
                None => {
                    class.origin = self.rng.below(interval as u64) as i64;
                    class.next = self.rng.below(class.ring.len() as u64) as usize;
                }
            }
            class.set_window(cycle);
        }
        (self.classes, self.cycle, self.turn) = (new, cycle, 0);
    }

    pub fn pick(&mut self, eligible: &Eligible, view: &PoolView, ask: &Ask) -> Choice {
        let mut last = 0;
        for _ in 0..TURNS {
            let Some(at) = self.deal() else { return Choice::None };
            if eligible.takes(view, ask, at) {
                return eligible.choice(at);
            }
            last = at;
        }
        eligible.scan(view, ask, last + 1)
    }

    /// Deals one turn: to the released class that is due first. `None` when there is no class.
    #[inline]
    fn deal(&mut self) -> Option<usize> {
        let mut best: Option<usize> = None;
        let mut due = i64::MAX;
        let mut soonest = (i64::MAX, 0);
        for (at, class) in self.classes.iter().enumerate() {
            if class.release <= self.turn && class.deadline < due {
                (best, due) = (Some(at), class.deadline);
            }
            soonest = soonest.min((class.release, at));
        }
        // After a refresh all may be ahead of their share: time is nothing but turns, so it passes at once.
        let class = self.classes.get_mut(best.unwrap_or(soonest.1))?;
        self.turn = self.turn.max(class.release) + 1;
        Some(class.take(self.cycle))
    }
}

impl Class {
    /// Gives the class's turn to its next member.
    #[inline]
    fn take(&mut self, cycle: i64) -> usize {
        self.had += 1;
        if self.had == self.share {
            self.had = 0;
            self.origin += cycle;
        }
        self.set_window(cycle);
        let at = self.ring[self.next].at;
        self.next += 1;
        if self.next == self.ring.len() {
            self.next = 0;
        }
        at
    }

    fn set_window(&mut self, cycle: i64) {
        self.release = self.origin + self.had * cycle / self.share;
        self.deadline = self.origin + ((self.had + 1) * cycle + self.share - 1) / self.share;
    }
}

/// The eligible by weight, each class in the worker's own order, all at the beginning.
fn classes(eligible: &Eligible, seed: u64) -> Vec<Class> {
    let mut order: Vec<(u16, Member)> = eligible
        .slots
        .iter()
        .enumerate()
        .map(|(at, slot)| (slot.weight, Member { rank: rank(slot.id, seed), at }))
        .collect();
    order.sort_by_key(|(weight, member)| (std::cmp::Reverse(*weight), member.rank));
    order
        .chunk_by(|a, b| a.0 == b.0)
        .map(|chunk| Class {
            weight: chunk[0].0,
            ring: chunk.iter().map(|(_, member)| *member).collect(),
            next: 0,
            share: i64::from(chunk[0].0) * chunk.len() as i64,
            origin: 0,
            had: 0,
            release: 0,
            deadline: 0,
        })
        .collect()
}

/// A server's place in this worker's order; it depends on nothing else, so that it outlives every refresh.
fn rank(id: ServerId, seed: u64) -> u64 {
    mix(seed ^ mix(u64::from(id.0) + 1))
}
