//! Smooth weighted round-robin: an endless sequence of turns in which each server has its share at every moment, not
//! only in the end.
//!
//! The usual smooth algorithm adds every server's weight at each pick, which needs a look at every server. The whole
//! sequence written down would have up to 256 turns a server. Here servers of equal weight form a class and take the
//! class's turns one after the other; turns are dealt to classes by earliest deadline. With `W` the sum of all weights
//! and `S` that of a class, its `k`-th turn of a cycle may not come before turn `⌊k·W/S⌋` and is due by `(k+1)·W/S`.
//!
//! One processor meets such deadlines at full load (Liu and Layland 1973; the windows are those of Baruah et al.,
//! "Proportionate progress", 1996). Hence a class is never a whole turn ahead of or behind its share, and any `W` turns
//! in a row hold exactly `w` turns of each server of weight `w`.
//!
//! A pick costs a few steps in a heap of at most 256 classes, next to nothing if weights are equal. Every worker has
//! its own order within classes and its own beginning, so that workers do not visit servers in step. A server that
//! cannot take its turn loses it; it is not made up for later. Load is ignored.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::id::ServerId;
use crate::snapshot::PoolView;

use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::{Rng, mix};

/// Turns offered before every server is looked at in turn: bounds the cost of a pick when many servers are full.
/// A full server costs one turn; sixteen full ones in a row mean a pool that is nearly full.
const TURNS: usize = 16;
/// The first turn of a worker is drawn from this many.
const BEGINNINGS: u64 = 256;
/// Parts of a turn in which times are stored, so that a refresh loses no fraction of a turn.
const TURN: i64 = 1024;

#[derive(Clone, Debug)]
pub(super) struct RoundRobin {
    seed: u64,
    rng: Rng,
    /// By weight, largest first.
    classes: Vec<WeightClass>,
    /// Classes that may have a turn, by deadline.
    ready: BinaryHeap<Reverse<ClassDeadline>>,
    /// Classes that had their turn, by release.
    resting: BinaryHeap<Reverse<ClassRelease>>,
    /// Turns in a cycle: the sum of all weights.
    cycle: i64,
    /// The next turn, in turns.
    turn: i64,
}

/// A class by the time at which its turn is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ClassDeadline {
    /// In parts of a turn.
    deadline: i64,
    class: usize,
}

/// A class by the turn before which it may not have its next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ClassRelease {
    /// In turns.
    release: i64,
    class: usize,
}

/// Servers of one weight.
#[derive(Clone, Debug)]
struct WeightClass {
    weight: u16,
    /// In the order of `rank`.
    ring: Vec<ClassMember>,
    /// The member of the ring that has the class's next turn.
    next: usize,
    /// Turns in a cycle: the sum of the members' weights.
    share: i64,
    /// When the class's present cycle began, in parts of a turn.
    origin: i64,
    /// Turns had in the present cycle.
    turns_taken: i64,
    /// The turn before which the class may not have its next.
    release: i64,
    /// When the turn is due, in parts of a turn.
    deadline: i64,
}

#[derive(Clone, Copy, Debug)]
struct ClassMember {
    rank: u64,
    at: usize,
}

impl RoundRobin {
    pub fn new(eligible: &EligibleServers, seed: u64) -> RoundRobin {
        let mut rng = Rng::new(mix(seed));
        let mut classes = weight_classes(eligible, seed);
        let cycle = classes.iter().map(|class| class.share).sum();
        for class in &mut classes {
            class.next = rng.below(class.ring.len() as u64) as usize;
            class.set_window(cycle);
        }
        let resting = resting_heap(&classes);
        let ready = BinaryHeap::with_capacity(classes.len());
        let mut made = RoundRobin { seed, rng, classes, ready, resting, cycle, turn: 0 };
        for _ in 0..made.rng.below(BEGINNINGS) {
            made.next_turn();
        }
        made
    }

    /// Applies new servers and weights. A class that stays keeps its lead or lag, and its next member. A new class
    /// starts within its first interval; otherwise every worker would send to it first.
    pub fn refresh(&mut self, eligible: &EligibleServers) {
        let mut new = weight_classes(eligible, self.seed);
        let cycle: i64 = new.iter().map(|class| class.share).sum();
        for class in &mut new {
            let interval = cycle * TURN / class.share;
            match self.classes.iter().find(|old| old.weight == class.weight) {
                Some(old) => {
                    class.origin = self.time_to_next_turn(old, interval).clamp(-interval, interval);
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
        self.resting = resting_heap(&new);
        self.ready = BinaryHeap::with_capacity(new.len());
        self.classes = new;
        self.cycle = cycle;
        self.turn = 0;
    }

    /// The time until the class may have its next turn, if its turns came every `interval`, in parts of a turn.
    fn time_to_next_turn(&self, class: &WeightClass, interval: i64) -> i64 {
        let left = class.turn_time(class.turns_taken, self.cycle) - self.turn * TURN;
        let scaled = i128::from(left) * i128::from(interval) * i128::from(class.share);
        (scaled / i128::from(self.cycle * TURN)) as i64
    }

    pub fn pick(
        &mut self,
        eligible: &EligibleServers,
        view: &PoolView,
        ask: &PickRequest,
    ) -> PickResult {
        let mut last = 0;
        for _ in 0..TURNS {
            let Some(at) = self.next_turn() else { return PickResult::None };
            if eligible.may_take(view, ask, at) {
                return eligible.choice(at);
            }
            last = at;
        }
        eligible.first_available(view, ask, last + 1)
    }

    /// Deals one turn: to the released class that is due first. `None` if there is no class.
    #[inline]
    fn next_turn(&mut self) -> Option<usize> {
        while let Some(Reverse(ClassRelease { release, class })) = self.resting.peek().copied() {
            if release > self.turn {
                if !self.ready.is_empty() {
                    break;
                }
                // After a refresh all classes may be ahead of their share. Time is nothing but turns, so it is advanced
                // at once.
                self.turn = release;
            }
            self.resting.pop();
            let deadline = self.classes[class].deadline;
            self.ready.push(Reverse(ClassDeadline { deadline, class }));
        }
        let Reverse(ClassDeadline { class, .. }) = self.ready.pop()?;
        let taking = &mut self.classes[class];
        let server = taking.take_member(self.cycle);
        self.turn += 1;
        self.resting.push(Reverse(ClassRelease { release: taking.release, class }));
        Some(server)
    }
}

impl WeightClass {
    /// Gives the class's turn to its next member.
    #[inline]
    fn take_member(&mut self, cycle: i64) -> usize {
        self.turns_taken += 1;
        if self.turns_taken == self.share {
            self.turns_taken = 0;
            self.origin += cycle * TURN;
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
        self.release = self.turn_time(self.turns_taken, cycle).div_euclid(TURN);
        self.deadline = self.turn_time(self.turns_taken + 1, cycle);
    }

    /// When this turn of the present cycle would come if turns were divisible, in parts of a turn.
    fn turn_time(&self, turn: i64, cycle: i64) -> i64 {
        self.origin + turn * cycle * TURN / self.share
    }
}

/// The eligible servers by weight, each class in the worker's own order, all at the beginning.
fn weight_classes(eligible: &EligibleServers, seed: u64) -> Vec<WeightClass> {
    let mut order: Vec<(u16, ClassMember)> = eligible
        .servers
        .iter()
        .enumerate()
        .map(|(at, slot)| (slot.weight, ClassMember { rank: rank(slot.id, seed), at }))
        .collect();
    order.sort_by_key(|(weight, member)| (Reverse(*weight), member.rank));
    order
        .chunk_by(|a, b| a.0 == b.0)
        .map(|chunk| WeightClass {
            weight: chunk[0].0,
            ring: chunk.iter().map(|(_, member)| *member).collect(),
            next: 0,
            share: i64::from(chunk[0].0) * chunk.len() as i64,
            origin: 0,
            turns_taken: 0,
            release: 0,
            deadline: 0,
        })
        .collect()
}

/// All classes, with capacity for as many without another allocation.
fn resting_heap(classes: &[WeightClass]) -> BinaryHeap<Reverse<ClassRelease>> {
    let releases = classes.iter().map(|class| class.release).enumerate();
    releases.map(|(class, release)| Reverse(ClassRelease { release, class })).collect()
}

/// A server's place in this worker's order. It depends only on these values, so it outlives every refresh.
fn rank(id: ServerId, seed: u64) -> u64 {
    mix(seed ^ mix(u64::from(id.0) + 1))
}
