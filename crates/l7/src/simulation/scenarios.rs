//! Whole conversations over HTTP: clients with plans, servers with behaviours, and the invariants of every run.
//!
//! Each test states the outcome of its scenario.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use model::config::ClientHttp2Mode;
use model::id::ServiceId;
use model::load_balancing::Rng;

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote, SimClient};
use super::harness::{self, WorkerHarness};
use super::server::{ServerLedger, SimServer};
use super::stream_client::StreamClient;

/// The parameters of a run.
pub struct Scenario {
    pub seed: u64,
    /// Number of clients.
    pub clients: u64,
    /// The server behaviours that clients may request.
    pub modes: &'static [&'static str],
    /// Servers close connections that are idle for this long.
    pub idle: Option<Duration>,
    /// Whether one of the servers refuses connections.
    pub dead: bool,
    /// Whether clients leave in the middle.
    pub leaving: bool,
    pub streams: bool,
    /// The methods that clients use.
    pub methods: &'static [&'static str],
}

/// The outcome of a run.
pub struct ScenarioOutcome {
    /// The clients' results.
    pub notes: Vec<RequestNote>,
    /// What the servers received.
    pub ledger: ServerLedger,
}

/// Runs a scenario to its end.
pub fn run(scene: &Scenario) -> ScenarioOutcome {
    let mut rng = Rng::new(scene.seed);
    let window = 512 + rng.below(60_000) as usize;
    let ledger = Rc::new(RefCell::new(ServerLedger::default()));
    let addresses = harness::addresses(3);
    let offer = if scene.streams { ClientHttp2Mode::Always } else { ClientHttp2Mode::Off };
    let snapshot =
        harness::setting(&addresses, |service| service.http2.offer = offer, |_| {}, |_| {});
    let stage = WorkerHarness::new(scene.seed, window, snapshot);
    for address in addresses.iter().skip(usize::from(scene.dead)) {
        let ledger = ledger.clone();
        let idle = scene.idle;
        stage.serve(*address, move || SimServer::new(ledger.clone(), idle));
    }
    let door = stage.open(ServiceId(0));
    let notes = ClientNotes::default();
    let mut next_id = 1000;
    let mut planned = 0;
    for n in 0..scene.clients {
        let plan = plan(scene, &mut rng, &mut next_id);
        planned += plan.len();
        let after = Duration::from_micros(rng.below(2_000_000));
        let pipelines = rng.below(3) == 0;
        if scene.streams {
            stage.client(&door, n, after, StreamClient::new(notes.clone(), plan));
        } else {
            stage.client(&door, n, after, SimClient::new(notes.clone(), plan, pipelines));
        }
    }
    stage.until(|| notes.borrow().len() >= planned && stage.connections() == 0);
    stage.finish();
    ScenarioOutcome { notes: notes.take(), ledger: ledger.take() }
}

/// The requests of one client.
pub fn plan(scene: &Scenario, rng: &mut Rng, next_id: &mut u64) -> Vec<PlannedRequest> {
    let requests = 1 + rng.below(6);
    (0..requests)
        .map(|_| {
            *next_id += 1;
            let method = scene.methods[rng.below(scene.methods.len() as u64) as usize];
            let uploads = method == "POST" || method == "PUT";
            let size = [0, 1, 100, 5_000, 70_000, 150_000][rng.below(6) as usize];
            let leaves = (scene.leaving && rng.below(6) == 0).then(|| rng.below(2) == 0);
            PlannedRequest {
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

/// Checks the invariants of every scenario.
pub fn check_invariants(scene: &Scenario, outcome: &ScenarioOutcome) {
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
    for RequestNote { planned, saw } in &outcome.notes {
        assert!(!matches!(saw, ClientOutcome::Wrong(_)), "seed {seed}: {planned:?} saw {saw:?}");
        let times = outcome.ledger.received.get(&planned.id).copied().unwrap_or(0);
        let idempotent = planned.method != "POST";
        assert!(times <= 1 || idempotent, "seed {seed}: {planned:?} was received {times} times");
        if matches!(saw, ClientOutcome::Answer(200, None)) {
            assert!(times >= 1, "seed {seed}: {planned:?} was answered by nobody");
        }
    }
}
