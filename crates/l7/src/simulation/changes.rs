//! Scenarios with configuration changes under load: no exchange may fail while at least one server is up.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::cause::Cause;
use model::config::ServerWeight;
use model::id::{PoolId, ServerId, ServiceId};
use model::load_balancing::Rng;
use model::snapshot::{PoolView, ServerState, ServiceView, WorkerSnapshot};

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote, SimClient};
use super::harness::{WorkerHarness, addresses, seeds};
use super::server::{LedgerEntry, ServerLedger, SimServer};
use crate::simulation::fixture;

/// Longest time that a request travels to its server.
const UNDER_WAY: Duration = Duration::from_millis(20);

/// One service over `pool`, and one that never changes.
fn two(changing: &WorkerSnapshot, pool: PoolId, steady: &WorkerSnapshot) -> WorkerSnapshot {
    let view = &changing.services[&ServiceId(0)];
    let service = ServiceView {
        id: ServiceId(0),
        config: view.config.clone(),
        pool,
        tls: None,
        error_pages: None,
        file_networks: None,
        stats: view.stats.clone(),
        rules: None,
        edits: None,
        affinity: None,
        slo: None,
    };
    WorkerSnapshot {
        generation: 1,
        version: changing.version + 1,
        services: [
            (ServiceId(0), Arc::new(service)),
            (ServiceId(1), steady.services[&ServiceId(1)].clone()),
        ]
        .into(),
        pools: [
            (pool, changing.pools.values().next().unwrap().clone()),
            (PoolId(1), steady.pools[&PoolId(1)].clone()),
        ]
        .into(),
        acme_proofs: None,
        cookie_secrets: Default::default(),
        auth: None,
        auth_pools: Default::default(),
    }
}

fn steady() -> WorkerSnapshot {
    let base = fixture::snapshot(&addresses(8)[6..]);
    let service = &base.services[&ServiceId(0)];
    let pool = &base.pools[&PoolId(0)];
    let service = ServiceView {
        id: ServiceId(1),
        config: service.config.clone(),
        pool: PoolId(1),
        tls: None,
        error_pages: None,
        file_networks: None,
        stats: service.stats.clone(),
        rules: None,
        edits: None,
        affinity: None,
        slo: None,
    };
    let servers = pool.servers.iter().cloned().map(|mut server| {
        server.id = ServerId(server.id.0 + 100);
        server
    });
    let pool = PoolView {
        id: PoolId(1),
        config: pool.config.clone(),
        tls: None,
        stats: pool.stats.clone(),
        servers: servers.collect(),
    };
    WorkerSnapshot {
        services: [(ServiceId(1), Arc::new(service))].into(),
        pools: [(PoolId(1), Arc::new(pool))].into(),
        ..base
    }
}

/// Another state of the pool: each server is in a random state or removed, and at least one is up. Also returns which
/// addresses take work.
fn changed(rng: &mut Rng, all: &WorkerSnapshot, next: PoolId) -> (WorkerSnapshot, Vec<usize>) {
    let pool = all.pools.values().next().unwrap();
    let addresses = addresses(6);
    let sure = rng.below(6) as usize;
    let mut takes = Vec::new();
    let mut servers = Vec::new();
    for (at, server) in pool.servers.iter().enumerate() {
        let mut server = server.clone();
        let states =
            [ServerState::Up, ServerState::Down, ServerState::Drain, ServerState::Disabled];
        server.state = states[rng.below(4) as usize];
        server.weight = ServerWeight::new(1 + rng.below(9) as u16).unwrap();
        // Two servers may swap their addresses.
        let place = if rng.below(4) == 0 { rng.below(6) as usize } else { at };
        server.address = Some(addresses[place].into());
        if at == sure {
            server.state = ServerState::Up;
        } else if rng.below(5) == 0 {
            continue;
        }
        if server.state == ServerState::Up {
            takes.push(place);
        }
        servers.push(server);
    }
    let config = pool.config.clone();
    let live = pool.stats.clone();
    let pool = PoolView { id: next, config, tls: None, stats: live, servers };
    let snapshot = WorkerSnapshot {
        generation: all.generation,
        version: all.version + 1,
        services: all.services.clone(),
        pools: [(next, Arc::new(pool))].into(),
        acme_proofs: None,
        cookie_secrets: Default::default(),
        auth: None,
        auth_pools: Default::default(),
    };
    (snapshot, takes)
}

fn request(rng: &mut Rng, id: u64) -> PlannedRequest {
    let method = ["GET", "POST"][rng.below(2) as usize];
    PlannedRequest {
        method,
        mode: ["plain", "chunked", "later", "hints", "closing"][rng.below(5) as usize],
        size: [0, 100, 30_000][rng.below(3) as usize],
        upload: if method == "POST" { 1 + rng.below(50) } else { 0 },
        chunked: false,
        id,
        pause: Duration::from_millis([0, 1, 50, 300][rng.below(4) as usize]),
        leaves: None,
    }
}

fn serve(stage: &WorkerHarness) -> Rc<RefCell<ServerLedger>> {
    let ledger = Rc::new(RefCell::new(ServerLedger::default()));
    for (at, to) in addresses(8).into_iter().enumerate() {
        let ledger = ledger.clone();
        stage.serve(to, move || SimServer::new(ledger.clone(), None).number(at));
    }
    ledger
}

#[test]
fn changes_of_servers_and_pools_fail_no_exchange() {
    for seed in seeds(20) {
        let mut rng = Rng::new(seed);
        let all = fixture::snapshot(&addresses(6));
        let steady = steady();
        let first = two(&all, PoolId(0), &steady);
        let stage = WorkerHarness::new(seed, 20_000, first);
        let ledger = serve(&stage);
        let notes = ClientNotes::default();
        let doors = [stage.open(ServiceId(0)), stage.open(ServiceId(1))];
        for n in 0..16 {
            let plan = (0..5).map(|at| request(&mut rng, n * 10 + at)).collect();
            let client = SimClient::new(notes.clone(), plan, false);
            let door = &doors[n as usize % 2];
            stage.client(door, n, Duration::from_micros(rng.below(1_500_000)), client);
        }
        let mut takes: Vec<usize> = (0..6).collect();
        for round in 0..15 {
            stage.pass(UNDER_WAY, |_| ());
            let seen = ledger.borrow().order.len();
            stage.pass(Duration::from_millis(rng.below(250)), |_| ());
            for LedgerEntry { server, id, .. } in &ledger.borrow().order[seen..] {
                let theirs = if id / 10 % 2 == 1 { *server >= 6 } else { takes.contains(server) };
                assert!(theirs, "seed {seed}: {id} went to {server}, not one of {takes:?}");
            }
            let next = PoolId(if rng.below(4) == 0 { 10 + round } else { 0 });
            let (pools, now) = changed(&mut rng, &all, next);
            takes = now;
            stage.install(two(&pools, next, &steady));
        }
        stage.until(|| stage.connections() == 0 && notes.borrow().len() == 80);
        let moved = all.pools[&PoolId(0)].stats.slots[0].counters.moved.get();
        let received: u64 = ledger.borrow().received.values().map(|times| u64::from(*times)).sum();
        assert!(received <= 80 + moved, "seed {seed}: {received} received, {moved} moved");
        for RequestNote { planned, saw } in notes.borrow().iter() {
            assert_eq!(*saw, ClientOutcome::Answer(200, None), "seed {seed}: {planned:?}");
            // A request that waits for a server which is marked as down may be sent to another one.
            let times = ledger.borrow().received[&planned.id];
            assert!(times == 1 || planned.method == "GET", "seed {seed}: {planned:?}: {times}");
        }
        stage.finish();
    }
}

#[test]
fn a_removed_service_ends_what_it_does_and_the_other_notices_nothing() {
    for seed in seeds(12) {
        let mut rng = Rng::new(seed);
        let all = fixture::snapshot(&addresses(6));
        let steady = steady();
        let removed = all.services[&ServiceId(0)].clone();
        let drain = removed.config.timeout.drain;
        let stage = WorkerHarness::new(seed, 20_000, two(&all, PoolId(0), &steady));
        let ledger = serve(&stage);
        let notes = ClientNotes::default();
        let doors = [stage.open(ServiceId(0)), stage.open(ServiceId(1))];
        for n in 0..16 {
            let mut plan: Vec<_> = (0..5).map(|at| request(&mut rng, n * 10 + at)).collect();
            if n == 0 {
                // The timeouts for the first byte and the whole exchange are longer than this service's drain timeout.
                plan.truncate(1);
                plan[0] = PlannedRequest { mode: "drip", size: 4_000, ..plan[0].clone() };
            }
            let client = SimClient::new(notes.clone(), plan, false);
            let delay = Duration::from_micros(if n == 0 { 0 } else { rng.below(1_000_000) });
            stage.client(&doors[n as usize % 2], n, delay, client);
        }
        stage.pass(Duration::from_millis(300 + rng.below(500)), |_| ());
        stage.install(WorkerSnapshot { version: 2, ..steady });
        doors[0].wanted.set(crate::downstream::accept::ListenerMode::Drop);
        stage.worker.rt.wake_all();
        let open = || removed.stats.open_connections.get();
        stage.pass(drain - Duration::from_millis(100), |_| ());
        assert_eq!(open(), 1, "seed {seed}: cut early, or idle for ever");
        stage.pass(Duration::from_millis(200), |_| ());
        assert_eq!(open(), 0, "seed {seed}: open after the limit");
        let cut = removed.stats.slots[0].causes[Cause::DrainCut as usize].get();
        assert_eq!(cut, 1, "seed {seed}");
        stage.pass(Duration::from_secs(1), |_| ());
        for RequestNote { planned, saw } in notes.borrow().iter() {
            let received = ledger.borrow().received.contains_key(&planned.id);
            let steady = planned.id / 10 % 2 == 1;
            let wanted = (received || steady) && planned.mode != "drip";
            let whole = *saw == ClientOutcome::Answer(200, None);
            assert_eq!(whole, wanted, "seed {seed}: {planned:?} {saw:?}");
        }
        stage.finish();
    }
}
