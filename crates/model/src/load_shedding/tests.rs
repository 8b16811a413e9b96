//! Load shedding in simulated queues: bursts pass, overload is limited to the target, higher classes are served first.

use super::*;
use crate::load_balancing::Rng;
use crate::wait_queue::{PriorityClass, PriorityWaitQueue};

const MILLI: u64 = 1_000_000;

fn at(millis: u64) -> MonotonicTime {
    MonotonicTime(millis * MILLI)
}

fn terms() -> LoadSheddingConfig {
    LoadSheddingConfig { target: Duration::from_millis(50), interval: Duration::from_millis(500) }
}

#[test]
fn rows_of_single_intervals() {
    // The longest wait at moments of one interval, how many were served in it, and the limit afterwards.
    for (waits, served, room) in [
        // Empty once: a burst.
        (vec![(0, 300), (100, 400), (499, 0)], 10, None),
        // At the target is not above it.
        (vec![(0, 300), (1, 50), (499, 200)], 10, None),
        (vec![(0, 51), (100, 300), (499, 200)], 100, Some(10)),
        // Servers accepted nothing: one request may still wait.
        (vec![(0, 60), (100, 160), (499, 559)], 0, Some(1)),
    ] {
        let mut shed = LoadShedder::default();
        for (now, wait) in &waits {
            assert_eq!(
                shed.queue_limit(&terms(), at(1_000 + now), Some(at(1_000 + now - wait))),
                None
            );
        }
        (0..served).for_each(|_| shed.record_served());
        let end = 1_500;
        let last = waits.last().unwrap().1;
        let got = shed.queue_limit(&terms(), at(end), Some(at(end - last - 1)));
        assert_eq!(got, room, "{waits:?}");
    }
}

#[test]
fn a_queue_that_nobody_touched_is_no_overload() {
    let mut shed = LoadShedder::default();
    assert_eq!(shed.queue_limit(&terms(), at(0), None), None);
    assert_eq!(shed.queue_limit(&terms(), at(60_000), Some(at(59_900))), None);
    assert_eq!(shed.queue_limit(&terms(), at(60_600), Some(at(60_500))), Some(1), "it stood since");
}

/// Requests that arrive at one rate at servers that accept them at another.
struct SheddingSimulation {
    rng: Rng,
    line: PriorityWaitQueue<u64>,
    shed: LoadShedder,
    waits: Vec<ServedRequest>,
    lost: Vec<ShedRequest>,
}

/// A request that a server accepted; times in milliseconds.
struct ServedRequest {
    at: u64,
    class: PriorityClass,
    wait: u64,
}

/// A request that was shed at a time in milliseconds.
#[derive(Debug, PartialEq)]
struct ShedRequest {
    at: u64,
    class: PriorityClass,
}

/// The longest and the median wait of served requests, milliseconds.
struct WaitSummary {
    longest: u64,
    median: u64,
}

impl SheddingSimulation {
    fn new(seed: u64) -> SheddingSimulation {
        let line = PriorityWaitQueue::default();
        let shed = LoadShedder::default();
        SheddingSimulation { rng: Rng::new(seed), line, shed, waits: Vec::new(), lost: Vec::new() }
    }

    fn look(&mut self, now: u64) {
        let room = self.shed.queue_limit(&terms(), at(now), self.line.oldest_since());
        while room.is_some_and(|room| self.line.len() > room) {
            let Some(gone) = self.line.pop_last() else { return };
            self.shed.record_shed();
            self.lost.push(ShedRequest { at: now, class: gone.class });
        }
    }

    /// For a range of milliseconds, this many requests a second arrive and are accepted, on average.
    fn run(&mut self, millis: std::ops::Range<u64>, comes: u64, takes: u64, classes: u64) {
        for now in millis {
            for _ in 0..comes.div_ceil(1_000) {
                if self.rng.below(1_000 * comes.div_ceil(1_000)) < comes {
                    let class = self.rng.below(classes) as PriorityClass;
                    self.line.push(class, at(now), now);
                    self.look(now);
                }
            }
            for _ in 0..takes.div_ceil(1_000) {
                if self.rng.below(1_000 * takes.div_ceil(1_000)) < takes {
                    let first = self.line.iter().next().copied();
                    if let Some(request) =
                        first.and_then(|who| self.line.remove(|waiting| *waiting == who))
                    {
                        self.shed.record_served();
                        let wait = now - request.item;
                        self.waits.push(ServedRequest { at: now, class: request.class, wait });
                    }
                    self.look(now);
                }
            }
        }
    }

    /// The waits of requests served from then on.
    fn waited(&self, from: u64) -> WaitSummary {
        let mut waits: Vec<u64> =
            self.waits.iter().filter(|one| one.at >= from).map(|one| one.wait).collect();
        waits.sort_unstable();
        WaitSummary {
            longest: waits.last().copied().unwrap_or(0),
            median: waits.get(waits.len() / 2).copied().unwrap_or(0),
        }
    }
}

#[test]
fn what_servers_can_take_is_never_shed_and_a_burst_passes() {
    for seed in 1..20 {
        let mut world = SheddingSimulation::new(seed);
        world.run(0..10_000, 800, 1_000, 1);
        // 200 requests at once are half of a target's wait too many, and are served within an interval.
        for _ in 0..200 {
            world.line.push(0, at(10_000), 10_000);
        }
        world.run(10_000..20_000, 400, 1_000, 1);
        assert_eq!(world.lost, [], "seed {seed}");
    }
}

#[test]
fn overload_is_held_at_the_target_while_servers_stay_busy_and_ends_with_it() {
    for seed in 1..20 {
        let mut world = SheddingSimulation::new(seed);
        world.run(0..20_000, 1_500, 1_000, 1);
        let WaitSummary { longest: most, median: middle } = world.waited(3_000);
        assert!((20..=80).contains(&middle) && most < 150, "seed {seed}: {middle}, {most} at most");
        let served = world.waits.iter().filter(|one| one.at >= 3_000).count();
        assert!(served > 16_300, "seed {seed}: {served} of 17,000 were served");
        let shed = world.lost.len();
        assert!((8_000..12_000).contains(&shed), "seed {seed}: {shed} shed of 10,000 too many");
        world.run(20_000..30_000, 500, 1_000, 1);
        let late = world.lost.iter().filter(|one| one.at > 21_500).count();
        assert_eq!(late, 0, "seed {seed}");
    }
}

#[test]
fn without_it_the_same_overload_waits_ever_longer() {
    let mut world = SheddingSimulation::new(1);
    world.shed.interval_start = Some(MonotonicTime::NEVER);
    world.run(0..20_000, 1_500, 1_000, 1);
    assert!(world.waited(15_000).median > 3_000);
}

#[test]
fn the_lowest_class_is_shed_and_the_highest_hardly_waits() {
    for seed in 1..20 {
        let mut world = SheddingSimulation::new(seed);
        // Each of three classes has half of the load that the servers accept.
        world.run(0..20_000, 1_500, 1_000, 3);
        let of = |class: PriorityClass| {
            world.lost.iter().filter(|shed| shed.at > 3_000 && shed.class == class).count()
        };
        assert_eq!(of(2), 0, "seed {seed}");
        assert!(of(0) > 10 * of(1).max(1), "seed {seed}: {} and {}", of(0), of(1));
        let high = world.waits.iter().filter(|one| one.at > 3_000 && one.class == 2);
        let most = high.map(|one| one.wait).max().unwrap();
        assert!(most < 30, "seed {seed}: {most}");
    }
}
