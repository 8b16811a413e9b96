//! Scenarios of servers with connection caps: which tasks wait, in which order, and for how long at most.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use model::cause::Cause;
use model::config::ServerConfig as Configured;
use model::id::ServiceId;
use model::load_balancing::Rng;
use model::monotonic_time::MonotonicTime;
use model::snapshot::{ServerView, WorkerSnapshot};

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote, SimClient};
use super::harness::{WorkerHarness, addresses, seeds, setting};
use super::server::{ServerLedger, SimServer};

/// A free slot is taken within this time: waiting tasks poll every 10 ms.
const SOON: Duration = Duration::from_millis(15);

fn capped(servers: u16, cap: u32, queue: u32) -> WorkerSnapshot {
    let each = |server: &mut ServerView| {
        let config = Configured::clone(&server.config);
        server.config = std::sync::Arc::new(Configured { connections: Some(cap), ..config });
    };
    setting(&addresses(servers), |_| (), |pool| pool.limit.queue = queue, each)
}

fn serve(stage: &WorkerHarness, servers: u16) -> Rc<RefCell<ServerLedger>> {
    let ledger = Rc::new(RefCell::new(ServerLedger::default()));
    for address in addresses(servers) {
        let ledger = ledger.clone();
        stage.serve(address, move || SimServer::new(ledger.clone(), None));
    }
    ledger
}

#[test]
fn a_queue_is_served_in_order_and_no_slot_stays_free() {
    for seed in seeds(15) {
        let mut rng = Rng::new(seed);
        let servers = 1 + (seed % 2) as u16;
        let stage = WorkerHarness::new(seed, 30_000, capped(servers, 1, 8));
        let ledger = serve(&stage, servers);
        let door = stage.open(ServiceId(0));
        let notes = ClientNotes::default();
        let mut arrives = Duration::ZERO;
        for n in 0..30 {
            arrives += Duration::from_millis(1 + rng.below(60));
            let client =
                SimClient::new(notes.clone(), vec![PlannedRequest::get(n, "later")], false);
            stage.client(&door, n, arrives, client);
        }
        let free_since = Cell::new(MonotonicTime::NEVER);
        stage.pass(Duration::from_secs(20), |stage| {
            let now = stage.worker.rt.now();
            let wasted = stage.waiting() > 0 && stage.free_slots() > 0;
            free_since.set(if wasted { free_since.get().min(now) } else { MonotonicTime::NEVER });
            let free = now.0.saturating_sub(free_since.get().0);
            assert!(free < SOON.as_nanos() as u64, "seed {seed}: a free slot and a queue");
        });
        let order: Vec<u64> = ledger.borrow().order.iter().map(|entry| entry.id).collect();
        if servers == 1 {
            assert!(order.is_sorted(), "seed {seed}: {order:?}");
        }
        let full = stage.cause_count(Cause::QueueFull);
        let late = stage.cause_count(Cause::QueueTimeout);
        let refused = |saw: &ClientOutcome, cause: Cause| {
            *saw == ClientOutcome::Answer(503, Some(cause.name().into()))
        };
        for RequestNote { planned, saw } in notes.borrow().iter() {
            let served = order.contains(&planned.id);
            let turned_away = refused(saw, Cause::QueueFull) || refused(saw, Cause::QueueTimeout);
            assert!(
                if served { *saw == ClientOutcome::Answer(200, None) } else { turned_away },
                "seed {seed}: {planned:?} {saw:?}"
            );
        }
        assert_eq!(order.len() as u64 + full + late, 30, "seed {seed}");
        stage.finish();
    }
}

#[test]
fn a_connection_with_more_requests_stands_behind_those_that_wait() {
    let stage = WorkerHarness::new(1, 30_000, capped(1, 1, 8));
    let ledger = serve(&stage, 1);
    let door = stage.open(ServiceId(0));
    let notes = ClientNotes::default();
    let many = (0..3).map(|id| PlannedRequest::get(id, "later")).collect();
    stage.client(&door, 0, Duration::ZERO, SimClient::new(notes.clone(), many, true));
    for n in 1..4 {
        let client =
            SimClient::new(notes.clone(), vec![PlannedRequest::get(n * 10, "later")], false);
        stage.client(&door, n, Duration::from_millis(n), client);
    }
    stage.until(|| notes.borrow().len() == 6);
    let order: Vec<u64> = ledger.borrow().order.iter().map(|entry| entry.id).collect();
    assert_eq!(order, [0, 10, 20, 30, 1, 2]);
    stage.until(|| stage.connections() == 0);
    stage.finish();
}

#[test]
fn caps_hold_while_servers_misbehave_and_clients_leave() {
    for seed in seeds(15) {
        let mut rng = Rng::new(seed);
        let stage = WorkerHarness::new(seed, 2_000, capped(3, 2, 4));
        let ledger = serve(&stage, 3);
        let door = stage.open(ServiceId(0));
        let notes = ClientNotes::default();
        for n in 0..30 {
            let modes = ["later", "plain", "die", "cut", "closing", "until-close", "garbage"];
            let plan = (0..3)
                .map(|at| PlannedRequest {
                    leaves: (rng.below(8) == 0).then(|| rng.below(2) == 0),
                    ..PlannedRequest::get(n * 10 + at, modes[rng.below(7) as usize])
                })
                .collect();
            let client = SimClient::new(notes.clone(), plan, false);
            stage.client(&door, n, Duration::from_micros(rng.below(500_000)), client);
        }
        stage.pass(Duration::from_secs(1), |_| ());
        stage.until(|| stage.connections() == 0);
        assert_eq!(notes.borrow().len(), 90, "seed {seed}");
        assert!(ledger.borrow().nonsense.is_empty(), "seed {seed}: {:?}", ledger.borrow());
        assert_eq!(stage.free_slots(), 6, "seed {seed}");
        stage.finish();
    }
}
