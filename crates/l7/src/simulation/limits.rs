//! Scenarios of full pools: circuit breakers reject at once and close again, queues are shed, and higher classes come
//! first.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::cause::Cause;
use model::circuit_breaker::{BreakerResource, breaker_clock_ms};
use model::config::{
    Condition, LoadSheddingConfig, NoServersAction, PoolConfig, RuleActionConfig, RuleConfig,
    ServerConfig as Configured,
};
use model::id::{PoolId, ServiceId};
use model::rules::ServiceRules;
use model::snapshot::{ServerView, WorkerSnapshot};
use model::stats::pool::PoolStats;

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote, SimClient};
use super::harness::{SimListener, WorkerHarness, addresses, seeds, setting};
use super::server::{LedgerEntry, ServerLedger, SimServer};

/// A worker with the servers of one pool, and what they received.
struct LimitScene {
    stage: WorkerHarness,
    door: SimListener,
    ledger: Rc<RefCell<ServerLedger>>,
    notes: ClientNotes,
    live: Arc<PoolStats>,
}

impl LimitScene {
    fn new(seed: u64, servers: u16, snapshot: WorkerSnapshot) -> LimitScene {
        let live = snapshot.pools[&PoolId(0)].stats.clone();
        let stage = WorkerHarness::new(seed, 30_000, snapshot);
        let ledger = Rc::new(RefCell::new(ServerLedger::default()));
        for (number, address) in addresses(servers).into_iter().enumerate() {
            let ledger = ledger.clone();
            stage.serve(address, move || SimServer::new(ledger.clone(), None).number(number));
        }
        let door = stage.open(ServiceId(0));
        LimitScene { stage, door, ledger, notes: ClientNotes::default(), live }
    }

    fn comes(&self, millis: u64, planned: PlannedRequest) {
        let id = planned.id;
        let client = SimClient::new(self.notes.clone(), vec![planned], false);
        self.stage.client(&self.door, id, Duration::from_millis(millis), client);
    }

    /// The ids of the answered requests, and of those rejected with this cause; there may be no other result.
    fn ends(&self, cause: Cause) -> (Vec<u64>, Vec<u64>) {
        let notes = self.notes.borrow();
        let refusal = ClientOutcome::Answer(503, Some(cause.name().into()));
        let (good, bad): (Vec<_>, Vec<_>) =
            notes.iter().partition(|note| note.saw == ClientOutcome::Answer(200, None));
        assert!(bad.iter().all(|note| note.saw == refusal), "{bad:?}");
        let ids = |list: Vec<&RequestNote>| {
            let mut ids: Vec<u64> = list.iter().map(|note| note.planned.id).collect();
            ids.sort_unstable();
            ids
        };
        (ids(good), ids(bad))
    }

    fn refused(&self, bound: BreakerResource) -> u64 {
        self.live.slots[0].counters.refusals(bound).get()
    }

    fn is_open(&self, bound: BreakerResource) -> bool {
        self.live.breakers.get(bound).state(breaker_clock_ms(self.stage.worker.rt.now())).is_open()
    }

    /// Waits until all connections have closed, and checks that nothing is counted as in flight.
    fn leave(self) {
        let LimitScene { stage, live, .. } = self;
        stage.until(|| stage.connections() == 0);
        stage.finish();
        for bound in BreakerResource::ALL {
            assert_eq!(live.breakers.get(bound).in_use(), 0, "{bound:?}");
        }
    }
}

fn with(servers: u16, cap: Option<u32>, pool: impl FnOnce(&mut PoolConfig)) -> WorkerSnapshot {
    let each = |server: &mut ServerView| {
        let config = Configured::clone(&server.config);
        server.config = Arc::new(Configured { connections: cap, ..config });
    };
    setting(&addresses(servers), |_| (), pool, each)
}

#[test]
fn requests_beyond_the_limit_are_refused_at_once_and_the_breaker_closes_by_itself() {
    let scene = LimitScene::new(1, 2, with(2, None, |pool| pool.breaker.requests = Some(2)));
    for id in 0..5 {
        scene.comes(id, PlannedRequest::get(id, "later"));
    }
    // The servers need at least 20 ms.
    scene.stage.pass(Duration::from_millis(15), |_| ());
    assert_eq!(scene.ends(Cause::CircuitOpen), (vec![], vec![2, 3, 4]));
    assert_eq!(
        (scene.refused(BreakerResource::Requests), scene.is_open(BreakerResource::Requests)),
        (3, true)
    );
    scene.stage.until(|| scene.notes.borrow().len() == 5);
    scene.stage.pass(Duration::from_millis(1_100), |_| ());
    assert!(!scene.is_open(BreakerResource::Requests));
    (5..7).for_each(|id| scene.comes(0, PlannedRequest::get(id, "later")));
    scene.stage.until(|| scene.notes.borrow().len() == 7);
    assert_eq!(scene.ends(Cause::CircuitOpen).0, [0, 1, 5, 6]);
    assert_eq!(scene.refused(BreakerResource::Requests), 3);
    scene.leave();
}

#[test]
fn only_so_many_wait_and_none_where_that_is_nothing() {
    for most in [0, 1] {
        let scene =
            LimitScene::new(1, 1, with(1, Some(1), |pool| pool.breaker.pending = Some(most)));
        for id in 0..4 {
            scene.comes(id, PlannedRequest::get(id, "later"));
        }
        scene.stage.pass(Duration::from_millis(15), |_| ());
        assert_eq!(scene.stage.waiting(), most as usize);
        scene.stage.until(|| scene.notes.borrow().len() == 4);
        let first_refused = 1 + u64::from(most);
        let want = ((0..first_refused).collect(), (first_refused..4).collect());
        assert_eq!(scene.ends(Cause::CircuitOpen), want, "{most}");
        assert_eq!(scene.refused(BreakerResource::Pending), 3 - u64::from(most));
        scene.leave();
    }
}

#[test]
fn an_idle_connection_goes_before_a_request_is_refused_for_want_of_one() {
    let scene = LimitScene::new(1, 2, with(2, None, |pool| pool.breaker.connections = Some(1)));
    let mut served = Vec::new();
    for id in 0..8 {
        scene.comes(0, PlannedRequest::get(id, "plain"));
        scene.stage.until(|| scene.notes.borrow().len() as u64 == id + 1);
        served.push(scene.ledger.borrow().order[id as usize].server);
        assert_eq!(scene.live.breakers.get(BreakerResource::Connections).in_use(), 1);
    }
    assert!(served.contains(&0) && served.contains(&1), "{served:?}");
    assert_eq!(scene.refused(BreakerResource::Connections), 0);
    // A connection in use does not block its own worker's requests, but it counts.
    scene.comes(0, PlannedRequest::get(8, "later"));
    scene.comes(5, PlannedRequest::get(9, "later"));
    scene.stage.until(|| scene.notes.borrow().len() == 10);
    assert_eq!(scene.ends(Cause::CircuitOpen), ((0..9).collect(), vec![9]));
    assert_eq!(
        (scene.refused(BreakerResource::Connections), scene.is_open(BreakerResource::Connections)),
        (1, true)
    );
    // No server's failure count rises.
    let servers = &scene.stage.snapshot.borrow().pools[&PoolId(0)].servers;
    let failed: u64 =
        servers.iter().map(|one| one.stats.slots[0].counters.connect_failed.get()).sum();
    assert_eq!(failed, 0);
    // While the breaker is open, idle connections of this worker close for the sake of other workers.
    assert_eq!(scene.live.breakers.get(BreakerResource::Connections).in_use(), 1);
    scene.stage.pass(Duration::from_millis(400), |_| ());
    assert_eq!(scene.live.breakers.get(BreakerResource::Connections).in_use(), 0);
    scene.stage.until(|| scene.stage.connections() == 0);
}

#[test]
fn further_attempts_under_way_are_limited_beside_the_budget() {
    for seed in seeds(6) {
        let none = with(2, None, |pool| pool.breaker.retries = Some(0));
        let scene = LimitScene::new(seed, 2, none);
        for id in 0..4 {
            scene.comes(id, PlannedRequest::get(id, "die"));
        }
        scene.stage.until(|| scene.notes.borrow().len() == 4);
        assert_eq!(scene.ends(Cause::CircuitOpen), (vec![], vec![0, 1, 2, 3]), "seed {seed}");
        assert_eq!(scene.ledger.borrow().order.len(), 4, "seed {seed}: each had one attempt");
        assert_eq!(scene.refused(BreakerResource::Retries), 4, "seed {seed}");
        scene.leave();

        let one = with(10, None, |pool| (pool.breaker.retries, pool.retries) = (Some(1), 9));
        let scene = LimitScene::new(seed, 10, one);
        for id in 0..30 {
            scene.comes(id / 3, PlannedRequest::get(id, "half"));
        }
        scene.stage.pass(Duration::from_secs(3), |_| {
            assert!(scene.live.breakers.get(BreakerResource::Retries).in_use() <= 1);
        });
        let (good, refused) = scene.ends(Cause::CircuitOpen);
        assert_eq!(good.len() + refused.len(), 30, "seed {seed}");
        assert_eq!(scene.refused(BreakerResource::Retries), refused.len() as u64, "seed {seed}");
        let retries = scene.live.slots[0].counters.retries.get();
        assert!(retries > 0 && !refused.is_empty(), "seed {seed}: {retries}");
        scene.leave();
    }
}

/// Clients from these ports have this class, any other has the middle one.
fn classes(mut snapshot: WorkerSnapshot, classes: &[(u16, u16, u8)]) -> WorkerSnapshot {
    let rule = |(first, last, class): &(u16, u16, u8)| RuleConfig {
        name: None,
        // A client's port is 10,000 plus its number.
        when: Condition::ClientPort(10_000 + first, 10_000 + last),
        auth: Default::default(),
        action: RuleActionConfig::Pool(None),
        mirror: None,
        rewrite: None,
        limit: None,
        overrides: None,
        priority: Some(*class),
        without_servers: NoServersAction::Pool,
    };
    let view = snapshot.services.get_mut(&ServiceId(0)).and_then(Arc::get_mut).unwrap();
    Arc::make_mut(&mut view.config).rules = classes.iter().map(rule).collect();
    view.rules = ServiceRules::new(&view.config, |_| Some(PoolId(0)), 1, None).map(Arc::new);
    snapshot
}

/// One server that takes one request at a time, for 120 ms on average, and a queue without a limit.
fn narrow(pool: impl FnOnce(&mut PoolConfig)) -> WorkerSnapshot {
    with(1, Some(1), |config| {
        config.timeout.queue = Duration::from_secs(60);
        pool(config);
    })
}

/// Clients that arrive twice as fast as the server works.
fn overload(seed: u64, pool: impl FnOnce(&mut PoolConfig)) -> LimitScene {
    let scene = LimitScene::new(seed, 1, narrow(pool));
    for id in 0..300 {
        scene.comes(id * 60, PlannedRequest::get(id, "later"));
    }
    scene.stage.until(|| scene.notes.borrow().len() == 300);
    scene
}

#[test]
fn a_queue_that_stands_is_shed_and_what_is_left_is_served_in_time() {
    let terms =
        LoadSheddingConfig { target: Duration::from_millis(400), interval: Duration::from_secs(2) };
    for seed in seeds(4) {
        let scene = overload(seed, |pool| pool.shed = Some(terms.clone()));
        let (good, shed) = scene.ends(Cause::OverloadShed);
        assert_eq!(scene.live.slots[0].counters.shed.get(), shed.len() as u64, "seed {seed}");
        assert!(shed.len() > 80 && good.len() > 120, "seed {seed}: {} {}", good.len(), shed.len());
        assert_eq!(late(&scene, 3 * terms.target), 0, "seed {seed}");
        scene.leave();
        // Without load shedding, the last ones wait as long as half of all requests take.
        let scene = overload(seed, |_| ());
        assert_eq!(scene.ends(Cause::OverloadShed).0.len(), 300, "seed {seed}");
        assert!(late(&scene, 3 * terms.target) > 100, "seed {seed}");
        scene.leave();
    }
}

/// How many requests after the first hundred waited longer than `most` for the server.
fn late(scene: &LimitScene, most: Duration) -> usize {
    let ledger = scene.ledger.borrow();
    let begun = ledger.order[0].at;
    let waited = |entry: &LedgerEntry| {
        Duration::from_nanos((entry.at - begun).saturating_sub(entry.id * 60_000_000))
    };
    ledger.order.iter().filter(|entry| entry.id > 100 && waited(entry) > most).count()
}

#[test]
fn the_higher_class_leaves_first_and_the_lower_one_is_shed() {
    let terms =
        LoadSheddingConfig { target: Duration::from_millis(400), interval: Duration::from_secs(2) };
    for seed in seeds(3) {
        let shed = |pool: &mut PoolConfig| pool.shed = Some(terms.clone());
        let snapshot = classes(narrow(shed), &[(100, 199, 8), (200, 299, 2)]);
        let scene = LimitScene::new(seed, 1, snapshot);
        // Each class alone needs three quarters of the server's capacity.
        for n in 0..100 {
            scene.comes(n * 160, PlannedRequest::get(100 + n, "later"));
            scene.comes(n * 160 + 40, PlannedRequest::get(200 + n, "later"));
        }
        scene.stage.until(|| scene.notes.borrow().len() == 200);
        let (good, shed) = scene.ends(Cause::OverloadShed);
        assert!(shed.iter().all(|id| *id >= 200), "seed {seed}: {shed:?}");
        assert!(good.iter().filter(|id| **id < 200).count() == 100, "seed {seed}");
        assert!(shed.len() > 20, "seed {seed}: {}", shed.len());
        scene.leave();
    }
}

#[test]
fn a_full_queue_gives_a_place_of_the_lower_class_to_the_higher() {
    for bound in ["queue", "pending"] {
        let snapshot = with(1, Some(1), |pool| match bound {
            "queue" => pool.limit.queue = 1,
            _ => pool.breaker.pending = Some(1),
        });
        let snapshot = classes(snapshot, &[(3, 3, 6)]);
        let scene = LimitScene::new(1, 1, snapshot);
        for id in 1..5 {
            scene.comes(id, PlannedRequest::get(id, "later"));
        }
        scene.stage.until(|| scene.notes.borrow().len() == 4);
        let cause = if bound == "queue" { Cause::QueueFull } else { Cause::CircuitOpen };
        // The first has the server; the third replaces the second in the queue, and the fourth finds the queue full.
        assert_eq!(scene.ends(cause), (vec![1, 3], vec![2, 4]), "{bound}");
        scene.leave();
    }
}
