//! What each policy makes of servers that differ: `cargo run --release -p model --example choosing`.
//!
//! A discrete-event simulation without a network: ten servers with four slots each, exchanges that arrive at random
//! (Poisson) at four workers and take 10 ms on average (exponential), longer on slower servers. It prints, as a
//! table for `docs/choosing.md`, how long exchanges waited for a slot. It does not simulate failures, retries or
//! connection caps.

#[path = "../tests/support/view.rs"]
mod view;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::IpAddr;

use model::config::Balance;
use model::moment::Moment;
use model::pick::{Ask, Choice, Chooser, Rng};
use model::snapshot::PoolView;

const SLOTS: u32 = 4;
const WORKERS: u64 = 4;
const SERVICE_MICROS: f64 = 10_000.0;
const EXCHANGES: u32 = 400_000;
const WARM_UP: u32 = 40_000;
const CLIENTS: u64 = 1000;
const LOADS: [f64; 3] = [0.5, 0.7, 0.9];

const POLICIES: [(&str, Balance); 4] = [
    ("`round-robin`", Balance::RoundRobin),
    ("`least-request`", Balance::LeastRequest),
    ("`random`", Balance::Random),
    ("`maglev`, `source`", Balance::Maglev { size: 16_381 }),
];

/// Speeds of the ten servers, and the weights they are given.
struct Scene {
    name: &'static str,
    speeds: [u16; 10],
    weights: [u16; 10],
}

const SCENES: [Scene; 3] = [
    Scene { name: "alike", speeds: [1; 10], weights: [1; 10] },
    Scene {
        name: "one at a third, unknown",
        speeds: [3, 3, 3, 3, 3, 3, 3, 3, 3, 1],
        weights: [1; 10],
    },
    Scene {
        name: "one at a third, weighted",
        speeds: [3, 3, 3, 3, 3, 3, 3, 3, 3, 1],
        weights: [3, 3, 3, 3, 3, 3, 3, 3, 3, 1],
    },
];

#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn main() {
    println!("| servers | policy | 50 % load | 70 % load | 90 % load |");
    println!("|---|---|---|---|---|");
    for scene in &SCENES {
        for (name, balance) in POLICIES {
            let cells = LOADS.map(|load| {
                let (half, most) = simulate(scene, balance, load);
                format!("{} / {}", millis(half), millis(most))
            });
            println!("| {} | {name} | {} |", scene.name, cells.join(" | "));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    End(usize),
}

#[derive(Default)]
struct Server {
    busy: u32,
    waiting: VecDeque<u64>,
}

struct Run<'a> {
    scene: &'a Scene,
    view: PoolView,
    servers: Vec<Server>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    rng: Rng,
    waits: Vec<u64>,
}

/// Half of the exchanges and 99 % of them waited at most so long, in microseconds.
fn simulate(scene: &Scene, balance: Balance, load: f64) -> (u64, u64) {
    let view = view::pool(balance, &scene.weights);
    let mut choosers: Vec<Chooser> = (0..WORKERS).map(|seed| Chooser::new(&view, seed)).collect();
    let fastest = f64::from(scene.speeds.iter().copied().max().unwrap_or(1));
    let capacity: f64 = scene.speeds.iter().map(|speed| f64::from(*speed) / fastest).sum();
    let between = SERVICE_MICROS / (capacity * f64::from(SLOTS) * load);
    let servers = scene.speeds.iter().map(|_| Server::default()).collect();
    let mut run = Run {
        scene,
        view,
        servers,
        events: BinaryHeap::new(),
        rng: Rng::new(1),
        waits: Vec::new(),
    };
    run.events.push(Reverse((0, Event::Arrival)));
    let mut arrived = 0;
    while let Some(Reverse((now, event))) = run.events.pop() {
        match event {
            Event::End(at) => run.end(at, now),
            Event::Arrival if arrived == EXCHANGES => break,
            Event::Arrival => {
                arrived += 1;
                let worker = run.rng.below(WORKERS) as usize;
                let client = IpAddr::from((run.rng.below(CLIENTS) as u32).to_be_bytes());
                let ask = Ask::of(client, Moment(now * 1000));
                if let Choice::Server(at) = choosers[worker].pick(&run.view, &ask, &mut run.rng) {
                    run.arrive(at, now);
                }
                let next = now + run.exponential(between);
                run.events.push(Reverse((next, Event::Arrival)));
            }
        }
    }
    let mut waits = run.waits.split_off(WARM_UP as usize);
    waits.sort_unstable();
    (waits[waits.len() / 2], waits[waits.len() * 99 / 100])
}

impl Run<'_> {
    fn arrive(&mut self, at: usize, now: u64) {
        self.view.servers[at].live.in_flight.up();
        self.servers[at].waiting.push_back(now);
        self.start(at, now);
    }

    fn end(&mut self, at: usize, now: u64) {
        self.view.servers[at].live.in_flight.down();
        self.servers[at].busy -= 1;
        self.start(at, now);
    }

    fn start(&mut self, at: usize, now: u64) {
        if self.servers[at].busy == SLOTS {
            return;
        }
        let Some(since) = self.servers[at].waiting.pop_front() else { return };
        self.servers[at].busy += 1;
        self.waits.push(now - since);
        let fastest = self.scene.speeds.iter().copied().max().unwrap_or(1);
        let mean = SERVICE_MICROS * f64::from(fastest) / f64::from(self.scene.speeds[at]);
        let end = now + self.exponential(mean);
        self.events.push(Reverse((end, Event::End(at))));
    }

    fn exponential(&mut self, mean: f64) -> u64 {
        let uniform = (self.rng.below(1 << 53) + 1) as f64 / (1u64 << 53) as f64;
        (-uniform.ln() * mean) as u64
    }
}

fn millis(micros: u64) -> String {
    match micros {
        10_000_000.. => "over 10 s".to_owned(),
        1_000_000.. => format!("{:.1} s", micros as f64 / 1e6),
        _ => format!("{:.1} ms", micros as f64 / 1e3),
    }
}
