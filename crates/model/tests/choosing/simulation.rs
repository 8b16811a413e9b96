//! A pool in virtual time: requests arrive at random, the product's own pickers choose, servers work, queue and reject.
//! Everything is determined by a seed.
//!
//! It simulates no network, retries, health checks or connection limits. Times use only additions, multiplications and
//! divisions, so that a seed gives the same run on every machine.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use model::config::BalancePolicy;
use model::load_balancing::{PickRequest, PickResult, Rng, ServerPicker};
use model::load_report::{LoadSource, UtilizationReport};
use model::monotonic_time::MonotonicTime;
use model::snapshot::PoolView;

use super::scenes::PoolScene;
use super::view;

/// Exchanges that a server works on at a time.
const SLOTS: usize = 4;
/// Limit of a server's queue; further exchanges are rejected.
const BACKLOG: usize = 16;
/// Workers, each with its own chooser.
const WORKERS: u64 = 4;
/// The mean duration of an exchange, microseconds, on a server of full speed.
const WORK_MICROS: f64 = 50_000.0;
/// The duration of an error, microseconds.
const ERROR_MICROS: u64 = 1_000;
/// A response within this time counts as in time, microseconds.
const IN_TIME_MICROS: u64 = 500_000;
/// Interval between two load reports of a server, microseconds.
const REPORT_MICROS: u64 = 2_000_000;
/// Largest number of bytes of an exchange.
const BYTES: u64 = 50_000;

/// The parameters of a run.
pub struct PolicySetup<'a> {
    pub scene: &'a PoolScene,
    pub balance: BalancePolicy,
    /// Arrival rate, as a part of the capacity of all working servers.
    pub load: f64,
    /// Number of exchanges that arrive.
    pub exchanges: u32,
    /// Number of clients, all equally frequent.
    pub clients: u64,
}

/// The result of a run, without its first fifth.
pub struct PolicyOutcome {
    /// Share of exchanges with a successful response in time, 0 to 1.
    pub in_time: f64,
    /// 99th percentile of successful responses, milliseconds.
    pub p99_millis: u64,
    /// Exchanges sent to each server.
    pub given: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PolicyEvent {
    Arrival,
    /// An exchange at this server ends; the second value is its arrival.
    End(usize, u64),
    /// Servers report their load.
    Report,
}

#[derive(Clone, Default)]
struct SimulatedServer {
    busy: usize,
    waiting: VecDeque<u64>,
    /// Slot-microseconds worked since the last report, and the end of the summed time.
    worked: u64,
    summed: u64,
}

struct PolicySimulation<'a> {
    setup: &'a PolicySetup<'a>,
    view: PoolView,
    servers: Vec<SimulatedServer>,
    events: BinaryHeap<Reverse<(u64, u64, PolicyEvent)>>,
    number: u64,
    rng: Rng,
    /// Exchanges that arrived before this do not count.
    counts_from: u64,
    counted: u64,
    times: Vec<u64>,
    given: Vec<u64>,
}

pub fn run(setup: &PolicySetup) -> PolicyOutcome {
    let view = view::pool(setup.balance, &setup.scene.weights);
    let mut choosers: Vec<ServerPicker> =
        (0..WORKERS).map(|seed| ServerPicker::new(&view, seed)).collect();
    let count = setup.scene.speeds.len();
    let mut run = PolicySimulation {
        setup,
        view,
        servers: vec![SimulatedServer::default(); count],
        events: BinaryHeap::new(),
        number: 0,
        rng: Rng::new(1),
        counts_from: u64::MAX,
        counted: 0,
        times: Vec::new(),
        given: vec![0; count],
    };
    let between = WORK_MICROS / (setup.scene.capacity() * SLOTS as f64 * setup.load);
    run.after(0, 0, PolicyEvent::Arrival);
    run.after(0, REPORT_MICROS, PolicyEvent::Report);
    let mut arrived = 0;
    while let Some(Reverse((now, _, event))) = run.events.pop() {
        match event {
            PolicyEvent::End(at, since) => run.end(at, since, now),
            PolicyEvent::Report => run.report(now),
            PolicyEvent::Arrival if arrived == setup.exchanges => break,
            PolicyEvent::Arrival => {
                arrived += 1;
                if arrived == setup.exchanges / 5 {
                    run.counts_from = now;
                }
                let worker = run.rng.below(WORKERS) as usize;
                run.arrive(&mut choosers[worker], now);
                let next = run.exponential(between);
                run.after(now, next, PolicyEvent::Arrival);
            }
        }
    }
    run.outcome()
}

impl PolicySimulation<'_> {
    fn arrive(&mut self, chooser: &mut ServerPicker, now: u64) {
        let client = IpAddr::from((self.rng.below(self.setup.clients) as u32).to_be_bytes());
        let ask = PickRequest::first_attempt(client, moment(now));
        self.counted += u64::from(now >= self.counts_from);
        let PickResult::Server(at) = chooser.pick(&self.view, &ask, &mut self.rng) else { return };
        self.given[at] += u64::from(now >= self.counts_from);
        let live = &self.view.servers[at].stats;
        live.slots[0].counters.requests.add(1);
        if self.setup.scene.failing == Some(at) {
            live.in_flight.increment();
            self.after(now, ERROR_MICROS, PolicyEvent::End(at, now));
            return;
        }
        if self.servers[at].waiting.len() == BACKLOG {
            live.latency.record_failure(moment(now));
            return;
        }
        live.in_flight.increment();
        self.servers[at].waiting.push_back(now);
        self.start(at, now);
    }

    fn end(&mut self, at: usize, since: u64, now: u64) {
        let live = &self.view.servers[at].stats;
        live.in_flight.decrement();
        let moved = self.rng.below(BYTES);
        live.slots[0].counters.bytes_in.add(moved);
        if self.setup.scene.failing == Some(at) {
            live.latency.record_failure(moment(now));
            return;
        }
        let took = Duration::from_micros(now - since);
        match self.setup.balance {
            BalancePolicy::PeakEwma => live.latency.record_answer_peak(took, moment(now)),
            _ => live.latency.record_answer(took, moment(now)),
        }
        if since >= self.counts_from {
            self.times.push(now - since);
        }
        self.sum(at, now);
        self.servers[at].busy -= 1;
        self.start(at, now);
    }

    fn start(&mut self, at: usize, now: u64) {
        if self.servers[at].busy == SLOTS {
            return;
        }
        let Some(since) = self.servers[at].waiting.pop_front() else { return };
        self.sum(at, now);
        self.servers[at].busy += 1;
        let takes = self.exponential(WORK_MICROS / self.setup.scene.speeds[at]);
        self.after(now, takes, PolicyEvent::End(at, since));
    }

    /// Servers report their load since the last report.
    fn report(&mut self, now: u64) {
        for at in 0..self.servers.len() {
            self.sum(at, now);
            let worked = std::mem::take(&mut self.servers[at].worked);
            let value = worked as f64 / (REPORT_MICROS * SLOTS as u64) as f64;
            let made = UtilizationReport::new_clamped(value, moment(now), LoadSource::Agent);
            self.view.servers[at].stats.load.store(made.report);
        }
        self.after(now, REPORT_MICROS, PolicyEvent::Report);
    }

    fn sum(&mut self, at: usize, now: u64) {
        let server = &mut self.servers[at];
        server.worked += (now - server.summed) * server.busy as u64;
        server.summed = now;
    }

    fn after(&mut self, now: u64, micros: u64, event: PolicyEvent) {
        self.number += 1;
        self.events.push(Reverse((now + micros, self.number, event)));
    }

    fn exponential(&mut self, mean: f64) -> u64 {
        let uniform = (self.rng.below(1 << 53) + 1) as f64 / (1u64 << 53) as f64;
        (-ln(uniform) * mean) as u64
    }

    /// Exchanges in progress at the end were not in time, or are too few to matter.
    fn outcome(mut self) -> PolicyOutcome {
        self.times.sort_unstable();
        let in_time = self.times.partition_point(|time| *time <= IN_TIME_MICROS);
        let p99 = self.times.get(self.times.len() * 99 / 100).copied().unwrap_or_default();
        PolicyOutcome {
            in_time: in_time as f64 / self.counted.max(1) as f64,
            p99_millis: p99 / 1000,
            given: self.given,
        }
    }
}

fn moment(micros: u64) -> MonotonicTime {
    MonotonicTime(micros * 1000)
}

/// The natural logarithm of a positive number, by the artanh series: standard libraries differ in the last bits.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    let y = (mantissa - 1.0) / (mantissa + 1.0);
    let mut term = y;
    let mut sum = 0.0;
    for odd in (1..40).step_by(2) {
        sum += term / f64::from(odd);
        term *= y * y;
    }
    2.0 * sum + f64::from(exponent) * std::f64::consts::LN_2
}

#[test]
fn the_logarithm_is_one() {
    for x in [1e-16, 0.001, 0.3, 0.5, 0.999, 1.0] {
        assert!((ln(x) - f64::ln(x)).abs() < 1e-12, "{x}");
    }
}
