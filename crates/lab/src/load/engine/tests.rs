//! The engine under virtual time: no sockets, no waiting.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use proptest::prelude::*;

use super::{LoadEngine, SocketAction};
use crate::load::client::PeerClose;
use crate::load::fail::FailureCause;
use crate::load::plan::{
    ClosingSide, ConnectionReuse, HttpPlan, LoadModel, LoadPlan, LoadProtocol, ReadSpeed,
};
use crate::load::report::LoadReport;
use crate::load::tally::{LoadEndCounts, LoadTally};

const MS: u64 = 1_000_000;
const ANSWER_AFTER: u64 = MS / 10;

/// A response that is still to be delivered; the earliest sorts first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SimulatedAnswer {
    at: MonotonicTime,
    slot: usize,
    bytes: Vec<u8>,
}

/// An echo peer that responds after `ANSWER_AFTER`, or when a stall ends.
struct SimulatedEcho {
    engine: LoadEngine,
    now: MonotonicTime,
    answers: BTreeSet<SimulatedAnswer>,
    /// The stall, during which no response is sent.
    stall: Range<u64>,
    /// Delay of the response to the request with this number.
    delay: fn(u64) -> u64,
    /// Period of the stall; 0: it does not repeat.
    every: u64,
    connects: usize,
}

impl SimulatedEcho {
    fn new(change: impl FnOnce(&mut LoadPlan)) -> SimulatedEcho {
        let echo = LoadProtocol::Echo { bytes: 8 };
        let mut plan = LoadPlan::new(SocketAddr::from(([127, 0, 0, 1], 1)), echo, 4);
        plan.time = Some(Duration::from_secs(2));
        change(&mut plan);
        plan.check().unwrap();
        let engine =
            LoadEngine::new(Arc::new(plan), 0, MonotonicTime(0), LoadTally::new().unwrap());
        SimulatedEcho {
            engine,
            now: MonotonicTime(0),
            answers: BTreeSet::new(),
            stall: 0..0,
            delay: |_| ANSWER_AFTER,
            every: 0,
            connects: 0,
        }
    }

    /// When a response that is ready at `at` is sent.
    fn leaves(&self, at: u64) -> u64 {
        let Range { start: from, end: to } = self.stall;
        let lap = at.checked_div(self.every).map_or(0, |laps| laps * self.every);
        if (from + lap..to + lap).contains(&at) { to + lap } else { at }
    }

    fn act(&mut self) {
        while let Some(action) = self.engine.next_action() {
            match action {
                SocketAction::Connect(slot) => {
                    self.connects += 1;
                    self.engine.on_connected(slot, self.now);
                }
                SocketAction::Flush(slot) => {
                    let bytes = self.engine.pending(slot).to_vec();
                    self.engine.on_written(slot, bytes.len(), self.now);
                    let number = u64::from_be_bytes(bytes[..8].try_into().unwrap());
                    let at = self.leaves(self.now.0 + (self.delay)(number));
                    let at = MonotonicTime(at);
                    self.answers.insert(SimulatedAnswer { at, slot, bytes });
                }
                SocketAction::Close(slot) => self.answers.retain(|answer| answer.slot != slot),
                SocketAction::Read(_) => {}
            }
        }
    }

    /// Advances to the next event; `false`: the run has ended.
    fn step(&mut self) -> bool {
        self.engine.run_due(self.now);
        self.act();
        self.check();
        if self.engine.is_finished(self.now) {
            return false;
        }
        let answer = self.answers.first().map_or(MonotonicTime::NEVER, |answer| answer.at);
        self.now = self.engine.next_deadline().min(answer).max(self.now);
        while let Some(SimulatedAnswer { at, slot, bytes }) = self.answers.first().cloned()
            && at <= self.now
        {
            self.answers.pop_first();
            self.engine.on_received(slot, &bytes, self.now);
            self.act();
        }
        true
    }

    fn check(&self) {
        let tally = self.engine.tally();
        let failed: u64 = tally.failed.iter().sum();
        assert_eq!(tally.requests, tally.answered + failed + tally.in_flight, "at {:?}", self.now);
        assert_eq!(tally.latency.len(), tally.answered);
    }

    fn run(mut self) -> SimulatedEcho {
        while self.step() {}
        self
    }

    fn failed(&self, fail: FailureCause) -> u64 {
        self.engine.tally().failed[fail as usize]
    }
}

fn open(per_second: f64) -> impl FnOnce(&mut LoadPlan) {
    move |plan| plan.pace = LoadModel::Open { per_second, connections: 4 }
}

// Rows: L15
#[test]
fn open_loop_latency_counts_from_the_intended_start() {
    let mut world = SimulatedEcho::new(open(1_000.0));
    world.stall = 500 * MS..1_000 * MS;
    let world = world.run();
    let tally = world.engine.tally();
    assert_eq!(tally.requests, 2_000, "the stall does not slow the asking");
    assert_eq!(tally.answered, 2_000);
    let at = |quantile| tally.latency.value_at_quantile(quantile) / MS;
    // The stall delays a quarter of all starts, spread evenly over half a second, and their latency includes the wait.
    assert!((495..=505).contains(&at(1.0)), "{}", at(1.0));
    assert!((240..=270).contains(&at(0.875)), "{}", at(0.875));
    assert_eq!(at(0.7), 0);
}

/// 90 % of responses after 2 ms, 9 % after 20 ms and 1 % after 100 ms, with a stall of one second every ten seconds.
#[test]
fn percentiles_of_a_known_distribution_are_right() {
    let delay: fn(u64) -> u64 = |number| match number * 37 % 100 {
        0..90 => 2 * MS,
        90..99 => 20 * MS,
        _ => 100 * MS,
    };
    let mut world = SimulatedEcho::new(|plan| {
        plan.pace = LoadModel::Open { per_second: 500.0, connections: 1_000 };
        plan.time = Some(Duration::from_secs(30));
    });
    world.delay = delay;
    world.stall = 5_000 * MS..6_000 * MS;
    world.every = 10_000 * MS;
    let start = |number: u64| number * 2 * MS;
    let mut expected: Vec<u64> = (0..15_000)
        .map(|number| world.leaves(start(number) + delay(number)) - start(number))
        .collect();
    expected.sort_unstable();
    let world = world.run();
    let tally = world.engine.tally();
    assert_eq!((tally.answered, tally.requests), (15_000, 15_000));
    for quantile in [0.5, 0.8, 0.88, 0.91, 0.95, 0.97, 0.99, 0.999, 1.0] {
        let rank = ((quantile * 15_000.0_f64).ceil() as usize).clamp(1, 15_000) - 1;
        let found = tally.latency.value_at_quantile(quantile) as f64;
        let right = expected[rank] as f64;
        assert!((found / right - 1.0).abs() < 0.02, "{quantile}: {found} for {right}");
    }
    assert!(tally.latency.value_at_quantile(0.95) > 400 * MS, "the stalls are in the percentiles");
}

#[test]
fn the_servers_end_is_waited_for_where_it_closes() {
    let mut world = SimulatedEcho::new(|plan| {
        plan.persist = ConnectionReuse::ClosedBy(ClosingSide::Server);
        plan.pace = LoadModel::Closed { connections: 1, think: Duration::ZERO };
        plan.timeout = Duration::from_millis(50);
        plan.requests = Some(2);
    });
    assert!(world.step());
    assert!(world.step());
    assert_eq!(world.engine.tally().answered, 1);
    assert_eq!(world.connects, 1, "nothing is asked before the end");
    let at = world.now;
    world.engine.on_peer_end(0, PeerClose::Closed, at);
    world.act();
    assert_eq!(world.connects, 2);
    // The second server never closes its connection; the engine counts that and does not wait.
    let world = world.run();
    assert_eq!(world.engine.tally().answered, 2);
}

#[test]
fn closed_loop_asks_less_during_the_same_stall() {
    let mut world = SimulatedEcho::new(|_| {});
    world.stall = 500 * MS..1_000 * MS;
    let world = world.run();
    let tally = world.engine.tally();
    assert_eq!(tally.requests, tally.answered + tally.in_flight);
    assert!(tally.latency.value_at_quantile(0.999) < MS, "four of thousands only: hidden");
    assert_eq!(world.connects, 4);
}

#[test]
fn late_answers_are_timeouts_and_waiting_starts_are_not_sent() {
    let mut world = SimulatedEcho::new(|plan| {
        open(1_000.0)(plan);
        plan.timeout = Duration::from_millis(100);
    });
    world.stall = 500 * MS..1_000 * MS;
    let world = world.run();
    let late = world.failed(FailureCause::Timeout);
    let not_sent = world.failed(FailureCause::NotSent);
    // A request that started more than the timeout before the stall's end has failed, sent or not. Expiry is checked
    // every 5 ms.
    assert!((394..=402).contains(&(late + not_sent)), "{late} + {not_sent}");
    assert!(late > 0 && not_sent > 0, "{late} + {not_sent}");
    assert_eq!(world.engine.tally().in_flight, 0);
}

#[test]
fn a_connection_per_request_is_one() {
    let world = SimulatedEcho::new(|plan| {
        plan.persist = ConnectionReuse::PerRequest;
        plan.requests = Some(100);
    })
    .run();
    assert_eq!((world.connects, world.engine.tally().answered), (100, 100));
}

#[test]
fn failures_are_counted_once_and_never_repeated() {
    let mut world = SimulatedEcho::new(|plan| plan.requests = Some(8));
    assert!(world.step());
    for slot in 0..4 {
        world.engine.on_peer_end(slot, PeerClose::Reset, world.now);
        world.engine.on_peer_end(slot, PeerClose::Reset, world.now);
    }
    let world = world.run();
    assert_eq!(world.failed(FailureCause::ResetBeforeAnswer), 4);
    assert_eq!(world.engine.tally().answered, 4);
    assert_eq!(world.engine.tally().requests, 8);
}

#[test]
fn think_time_separates_requests() {
    let world = SimulatedEcho::new(|plan| {
        let think = Duration::from_millis(100);
        plan.pace = LoadModel::Closed { connections: 1, think };
    })
    .run();
    assert_eq!(world.engine.tally().requests, 20);
}

#[test]
fn a_slow_reader_reads_by_the_clock() {
    let mut world = SimulatedEcho::new(|plan| {
        plan.pace = LoadModel::Closed { connections: 1, think: Duration::ZERO };
        plan.reading = ReadSpeed::Slow { bytes: 3, pause: Duration::from_millis(10) };
    });
    world.engine.run_due(world.now);
    world.act();
    assert_eq!(world.engine.readable_bytes(0, 100), 3);
    world.engine.on_received(0, &[0; 3], world.now);
    assert_eq!(world.engine.readable_bytes(0, 100), 0);
    world.engine.run_due(world.now + Duration::from_millis(10));
    assert_eq!(world.engine.next_action(), Some(SocketAction::Read(0)));
    assert_eq!(world.engine.readable_bytes(0, 100), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After any order of connection events the counts add up and the run ends.
    #[test]
    fn counts_always_add_up(
        events in prop::collection::vec((0usize..4, 0u8..6), 1..60),
        rate in 10.0f64..5_000.0,
        is_open: bool,
        keep: bool,
    ) {
        let mut world = SimulatedEcho::new(|plan| {
            if is_open {
                open(rate)(plan);
            }
            plan.time = Some(Duration::from_millis(60));
            plan.timeout = Duration::from_millis(20);
            plan.persist = if keep { ConnectionReuse::KeepAlive } else { ConnectionReuse::PerRequest };
        });
        for (slot, event) in events {
            match event {
                0 => world.engine.on_peer_end(slot, PeerClose::Closed, world.now),
                1 => world.engine.on_peer_end(slot, PeerClose::Reset, world.now),
                2 => world.engine.on_received(slot, b"garbage", world.now),
                3 if world.engine.is_connecting(slot) => {
                    world.engine.on_connect_failed(slot, FailureCause::Refused, world.now);
                }
                _ => {
                    world.step();
                }
            }
            world.act();
            world.check();
        }
        let world = world.run();
        prop_assert_eq!(world.engine.tally().in_flight, 0);
    }
}

/// An open loop with a long timeout and grace time, so that every response is awaited.
fn patient(per_second: f64) -> impl FnOnce(&mut LoadPlan) {
    move |plan| {
        open(per_second)(plan);
        plan.timeout = Duration::from_secs(20);
        plan.grace = Duration::from_secs(20);
    }
}

/// A response that only the close of its connection completes (RFC 9112 §6.3) must free its stream.
#[test]
fn a_place_whose_answer_ends_with_the_connection_goes_on() {
    for pace in [
        LoadModel::Closed { connections: 1, think: Duration::ZERO },
        LoadModel::Open { per_second: 1_000.0, connections: 1 },
    ] {
        let get = LoadProtocol::Http(HttpPlan::get("x", "/"));
        let mut plan = LoadPlan::new(SocketAddr::from(([127, 0, 0, 1], 1)), get, 1);
        plan.persist = ConnectionReuse::ClosedBy(ClosingSide::Server);
        plan.pace = pace;
        plan.requests = Some(3);
        let mut engine =
            LoadEngine::new(Arc::new(plan), 0, MonotonicTime(0), LoadTally::new().unwrap());
        for time in 0..3 {
            let now = MonotonicTime(time * 10 * MS);
            engine.run_due(now);
            let actions: Vec<SocketAction> = std::iter::from_fn(|| engine.next_action()).collect();
            assert!(actions.contains(&SocketAction::Connect(0)), "{time}: {actions:?}");
            engine.on_connected(0, now);
            let bytes = engine.pending(0).len();
            engine.on_written(0, bytes, now);
            engine.on_received(0, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody", now);
            engine.on_peer_end(0, PeerClose::Closed, now);
        }
        assert_eq!(engine.tally().answered, 3);
        assert!(engine.is_finished(MonotonicTime(30 * MS)));
    }
}

#[test]
fn what_is_answered_after_the_last_start_has_no_time_of_its_own() {
    let mut world = SimulatedEcho::new(patient(1_000.0));
    // The last response arrives eight seconds after its request.
    world.delay = |number| if number == 1_999 { 8_000 * MS } else { ANSWER_AFTER };
    let world = world.run();
    let tally = world.engine.tally();
    assert_eq!((tally.answered, world.now.0 / MS), (2_000, 9_999));
    let end = tally.at_end.unwrap();
    assert_eq!((end.nanos / MS, end.answered, end.unsent), (2_000, 1_999, 0));
    let report = LoadReport::new(tally.clone(), Duration::from_secs(10), 0);
    assert!((report.answered_per_second - 999.5).abs() < 0.1, "{}", report.answered_per_second);
    // Another thread ended early: its counts are still included.
    let mut sum = LoadTally::new().unwrap();
    let lost = LoadTally { answered: 10, ..LoadTally::new().unwrap() };
    [&lost, tally, &lost].into_iter().for_each(|other| sum.merge(other));
    assert_eq!(sum.at_end.unwrap(), LoadEndCounts { answered: 2_019, ..end });
}

#[test]
fn starts_that_found_no_connection_in_time_are_reported() {
    // Four connections with responses after 10 ms carry 400 requests a second.
    let mut world = SimulatedEcho::new(patient(500.0));
    world.delay = |_| 10 * MS;
    let world = world.run();
    let tally = world.engine.tally();
    assert_eq!(
        (tally.answered, tally.failed.iter().sum::<u64>()),
        (1_000, 0),
        "all is answered in the end"
    );
    let end = tally.at_end.unwrap();
    assert!((190..=200).contains(&end.unsent), "{end:?}");
}
