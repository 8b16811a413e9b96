//! Probes under way by token, with their deadlines. It advances none of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::monotonic_time::MonotonicTime;
use rustix::event::epoll::EventFlags;

use super::running_probe::RunningProbe;

/// A probe under way, and whose it is.
pub(super) struct ProbeSlot<W> {
    pub(super) purpose: W,
    pub(super) started_at: MonotonicTime,
    pub(super) probe: RunningProbe,
    /// The events that its socket waits for.
    pub(super) interest: EventFlags,
}

/// A place for a probe, used by one after another.
struct ProbePlace<W> {
    /// Counts the probes that have left the place, so that their tokens no longer match.
    generation: u32,
    slot: Option<ProbeSlot<W>>,
}

/// When the time of a probe is up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ProbeDeadline {
    at: MonotonicTime,
    token: u64,
}

/// All of them. A token names a slot and which of its tenants is meant.
pub(super) struct RunningProbes<W> {
    slots: Vec<ProbePlace<W>>,
    free: Vec<u32>,
    deadlines: BinaryHeap<Reverse<ProbeDeadline>>,
    count: usize,
}

impl<W> Default for RunningProbes<W> {
    fn default() -> Self {
        RunningProbes {
            slots: Vec::new(),
            free: Vec::new(),
            deadlines: BinaryHeap::new(),
            count: 0,
        }
    }
}

impl<W> RunningProbes<W> {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Puts one in; its time is up at `end`.
    pub(super) fn insert(&mut self, active: ProbeSlot<W>, end: MonotonicTime) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(ProbePlace { generation: 0, slot: None });
            (self.slots.len() - 1) as u32
        });
        let place = &mut self.slots[index as usize];
        let token = u64::from(place.generation) << 32 | u64::from(index);
        place.slot = Some(active);
        self.deadlines.push(Reverse(ProbeDeadline { at: end, token }));
        self.count += 1;
        token
    }

    /// One of them, if it is still under way.
    pub(super) fn get(&mut self, token: u64) -> Option<&mut ProbeSlot<W>> {
        let place = self.slots.get_mut(token as u32 as usize)?;
        place.slot.as_mut().filter(|_| u64::from(place.generation) == token >> 32)
    }

    pub(super) fn remove(&mut self, token: u64) -> Option<ProbeSlot<W>> {
        self.get(token)?;
        let index = token as u32;
        let place = self.slots.get_mut(index as usize)?;
        place.generation = place.generation.wrapping_add(1);
        let active = place.slot.take();
        self.free.push(index);
        self.count -= 1;
        // Deadlines of ended probes are removed once they outnumber the others, so that each costs constant time on
        // average.
        if self.deadlines.len() > 1024 + 4 * self.count {
            let slots = &self.slots;
            self.deadlines.retain(|Reverse(ProbeDeadline { token, .. })| {
                u64::from(slots[*token as u32 as usize].generation) == token >> 32
            });
        }
        active
    }

    /// The earliest deadline. It may belong to a health check that has ended.
    pub(super) fn next_deadline(&self) -> Option<MonotonicTime> {
        self.deadlines.peek().map(|Reverse(deadline)| deadline.at)
    }

    /// The next probe whose deadline has passed. It stays until it is removed, and is returned only once.
    pub(super) fn first_expired(&mut self, now: MonotonicTime) -> Option<u64> {
        while let Some(Reverse(ProbeDeadline { at, token })) = self.deadlines.peek().copied() {
            if at > now {
                return None;
            }
            self.deadlines.pop();
            if self.get(token).is_some() {
                return Some(token);
            }
        }
        None
    }
}
