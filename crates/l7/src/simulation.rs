//! Seeded simulation of a whole worker: clients, stories and servers in virtual time.
//!
//! Every run checks what must hold whatever happens. A failing seed is run again with
//! `STEELYARD_SEED=n cargo test -p l7 simulation`.

mod client;
mod net;
mod server;
mod world;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::config::AccessFormat;
use model::pick::Rng;
use model::snapshot::Snapshot;

use self::client::{Client, Notes, Planned, Saw};
use self::server::{Ledger, Server};
use self::world::{Sim, Spawn};
use crate::accept::{self, Wanted};
use crate::account::Wall;
use crate::fixture;
use crate::outside::{Access, Observation, Outside, PlaneOptions};
use crate::worker::{Published, Worker};

/// Virtual time in which every story must have ended.
const PATIENCE: Duration = Duration::from_secs(600);

struct Deaf;

impl Outside for Deaf {
    fn observe(&self, _: Observation) {}

    fn log(&self, _: Vec<u8>) -> bool {
        true
    }
}

/// What a run is made of.
struct Scene {
    seed: u64,
    clients: u64,
    /// The servers' behaviours that clients may ask for.
    modes: &'static [&'static str],
    /// Servers close connections that are idle for this long.
    idle: Option<Duration>,
    /// Of how many servers one refuses connections.
    dead: bool,
    /// Clients go away in the middle.
    leaving: bool,
    methods: &'static [&'static str],
}

/// What came of it.
struct Outcome {
    notes: Vec<(Planned, Saw)>,
    ledger: Ledger,
    snapshot: Arc<Snapshot>,
}

fn run(scene: &Scene) -> Outcome {
    let mut rng = Rng::new(scene.seed);
    let sim = Sim::new(scene.seed ^ 0x5EED, 512 + rng.below(60_000) as usize);
    let ledger = Rc::new(RefCell::new(Ledger::default()));
    let addresses: Vec<SocketAddr> =
        (1..=3u16).map(|n| SocketAddr::from(([10, 0, 0, 1], 9000 + n))).collect();
    for (at, address) in addresses.iter().enumerate() {
        if at == 0 && scene.dead {
            continue;
        }
        let (ledger, idle) = (ledger.clone(), scene.idle);
        let spawn: Spawn = Box::new(move || Some(Box::new(Server::new(ledger.clone(), idle))));
        sim.serve(*address, spawn);
    }
    let snapshot = Arc::new(fixture::snapshot(&addresses));
    let options = PlaneOptions {
        workers: 1,
        pin: false,
        connections: 1000,
        access: Access { all: true, format: AccessFormat::Json, enabled: true },
        node: "sim".into(),
    };
    let wall = Wall { origin_nanos: 1_700_000_000_000_000_000 };
    let worker = Worker::new(
        sim.clone(),
        0,
        scene.seed,
        wall,
        Arc::new(options),
        Arc::new(Deaf),
        Published::default(),
    );
    worker.install(&snapshot);
    let notes = Notes::default();
    let listener = sim.listener();
    let mut next_id = 1000;
    let mut planned = 0;
    for n in 0..scene.clients {
        let plan = plan(scene, &mut rng, &mut next_id);
        planned += plan.len();
        let from = SocketAddr::from(([192, 0, 2, 1], 10_000 + n as u16));
        let client = Client::new(notes.clone(), plan, rng.below(3) == 0);
        sim.client(&listener, from, Duration::from_micros(rng.below(2_000_000)), Box::new(client));
    }
    let service = worker.local.borrow().services.values().next().cloned().unwrap();
    let local = SocketAddr::from(([192, 0, 2, 80], 80));
    let wanted = Rc::new(Cell::new(Wanted::Open));
    worker.rt.spawn(accept::listen(worker.clone(), listener, local, service, wanted));
    let live = &snapshot.services.values().next().unwrap().live;
    let end = worker.rt.now() + PATIENCE;
    while notes.borrow().len() < planned || live.open.get() > 0 {
        worker.rt.turn(None).unwrap();
        assert!(
            worker.rt.now() < end,
            "seed {}: stories did not end: {} of {planned}",
            scene.seed,
            notes.borrow().len()
        );
    }
    worker.leave();
    let notes = notes.borrow().clone();
    let ledger = ledger.take();
    Outcome { notes, ledger, snapshot }
}

fn plan(scene: &Scene, rng: &mut Rng, next_id: &mut u64) -> Vec<Planned> {
    let requests = 1 + rng.below(6);
    (0..requests)
        .map(|_| {
            *next_id += 1;
            let method = scene.methods[rng.below(scene.methods.len() as u64) as usize];
            let uploads = method == "POST" || method == "PUT";
            let size = [0, 1, 100, 5_000, 70_000, 200_000][rng.below(6) as usize];
            let leaves = (scene.leaving && rng.below(6) == 0).then(|| rng.below(2) == 0);
            Planned {
                method,
                mode: scene.modes[rng.below(scene.modes.len() as u64) as usize],
                size,
                upload: if uploads { [1, 300, 20_000, 100_000][rng.below(4) as usize] } else { 0 },
                chunked: uploads && rng.below(2) == 0,
                id: *next_id,
                pause: Duration::from_millis([0, 0, 1, 995, 1000, 1005][rng.below(6) as usize]),
                leaves,
            }
        })
        .collect()
}

/// What holds whatever happens.
fn always(scene: &Scene, outcome: &Outcome) {
    let seed = scene.seed;
    assert!(
        outcome.ledger.nonsense.is_empty(),
        "seed {seed}: a server got {:?}",
        outcome.ledger.nonsense
    );
    assert!(
        outcome.ledger.wrong.is_empty(),
        "seed {seed}: wrong bodies for {:?}",
        outcome.ledger.wrong
    );
    for (planned, saw) in &outcome.notes {
        assert!(!matches!(saw, Saw::Wrong(_)), "seed {seed}: {planned:?} saw {saw:?}");
        let times = outcome.ledger.received.get(&planned.id).copied().unwrap_or(0);
        let idempotent = planned.method != "POST";
        assert!(times <= 1 || idempotent, "seed {seed}: {planned:?} was received {times} times");
        if matches!(saw, Saw::Answer(200, None)) {
            assert!(times >= 1, "seed {seed}: {planned:?} was answered by nobody");
        }
    }
    for service in outcome.snapshot.services.values() {
        let c = &service.live.slots[0].counters;
        let ended = c.answered.get() + c.answered_by_us.get() + c.aborted.get();
        assert_eq!(c.requests.get(), ended, "seed {seed}: the sums do not add up");
        assert_eq!(c.accepted.get(), c.closed.get(), "seed {seed}: connections");
        assert_eq!(service.live.in_flight.get(), 0, "seed {seed}: in flight");
        let causes: u64 = service.live.slots[0].causes.iter().map(|count| count.get()).sum();
        assert_eq!(causes, c.answered_by_us.get() + c.aborted.get(), "seed {seed}: causes");
    }
    for server in outcome.snapshot.pools.values().flat_map(|pool| &pool.servers) {
        assert_eq!(
            server.live.in_flight.get(),
            0,
            "seed {seed}: in flight at {}",
            server.config.name
        );
        assert_eq!(
            server.live.connections.get(),
            0,
            "seed {seed}: connections of {}",
            server.config.name
        );
    }
}

/// Seeds to run: the one in the environment, or `count` from one on; more when proving.
fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let one = std::env::var("STEELYARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let count = std::env::var("STEELYARD_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(count);
    match one {
        Some(seed) => seed..seed + 1,
        None => 1..1 + count,
    }
}

const GOOD: &[&str] = &["plain", "chunked", "until-close", "hints", "closing", "silent-close"];
const ALL: &[&str] = &[
    "plain",
    "chunked",
    "until-close",
    "hints",
    "closing",
    "silent-close",
    "cut",
    "die",
    "garbage",
    "silent",
];

#[test]
fn healthy_servers_answer_every_request() {
    for seed in seeds(20) {
        let scene = Scene {
            seed,
            clients: 8,
            modes: GOOD,
            idle: None,
            dead: seed % 3 == 0,
            leaving: false,
            methods: &["GET", "HEAD", "PUT"],
        };
        let outcome = run(&scene);
        always(&scene, &outcome);
        let mut closed_by_us = BTreeMap::new();
        for (planned, saw) in &outcome.notes {
            match saw {
                Saw::Answer(200, None) => {}
                // A body that had left us when the server's end came cannot be sent again.
                Saw::Answer(502, Some(_)) if planned.upload > 1000 => {}
                // After an answer that ends with the connection what was pipelined behind it is the client's to repeat.
                Saw::Nothing => *closed_by_us.entry(planned.id).or_insert(0) += 1,
                other => panic!("seed {seed}: {planned:?} saw {other:?}"),
            }
        }
        let ends =
            outcome.notes.iter().filter(|(planned, _)| planned.mode == "until-close").count();
        assert!(closed_by_us.is_empty() || ends > 0, "seed {seed}: no answer for {closed_by_us:?}");
    }
}

#[test]
fn servers_that_close_idle_connections_cost_no_request_and_duplicate_none() {
    for seed in seeds(20) {
        let scene = Scene {
            seed,
            clients: 10,
            modes: &["plain", "chunked"],
            idle: Some(Duration::from_secs(1)),
            dead: false,
            leaving: false,
            methods: &["GET", "POST"],
        };
        let outcome = run(&scene);
        always(&scene, &outcome);
        for (planned, saw) in &outcome.notes {
            let lost_post = planned.method == "POST" && matches!(saw, Saw::Answer(502, Some(_)));
            assert!(
                matches!(saw, Saw::Answer(200, None)) || lost_post,
                "seed {seed}: {planned:?} saw {saw:?}"
            );
        }
    }
}

#[test]
fn whatever_peers_do_accounts_close_and_nothing_is_mixed() {
    for seed in seeds(40) {
        let scene = Scene {
            seed,
            clients: 8,
            modes: ALL,
            idle: (seed % 2 == 0).then_some(Duration::from_millis(700)),
            dead: seed % 3 == 0,
            leaving: true,
            methods: &["GET", "HEAD", "POST", "PUT"],
        };
        always(&scene, &run(&scene));
    }
}
