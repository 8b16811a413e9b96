//! Scenarios of silent servers while another one would respond. They check the client's response, the requests sent,
//! and that every record closes whichever attempt wins.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::cause::Cause;
use model::circuit_breaker::BreakerResource;
use model::config::{BalancePolicy, HedgeDelay, HedgingConfig, PoolConfig};
use model::id::{PoolId, ServiceId};
use model::stats::pool::PoolCounters;
use model::stats::{Count, ServerCounters};

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, SimClient};
use super::harness::{WorkerHarness, addresses, seeds, setting};
use super::server::{ServerLedger, SimServer};
use super::world::{PeerEvent, PeerIo, ScriptedPeer};

/// Simulated time after which the second request is sent.
const AFTER: Duration = Duration::from_millis(50);

/// Two servers with round robin, so that the first one gets the first request, and a pool that hedges after `AFTER`.
fn stage(
    seed: u64,
    pool: impl FnOnce(&mut PoolConfig),
) -> (WorkerHarness, Rc<RefCell<ServerLedger>>) {
    let hedging = |config: &mut PoolConfig| {
        config.balance = BalancePolicy::RoundRobin;
        config.eject = None;
        config.timeout.first_byte = Duration::from_secs(5);
        config.hedge =
            Some(HedgingConfig { after: HedgeDelay::Time(AFTER), at_least: Duration::ZERO });
        pool(config);
    };
    let stage = WorkerHarness::new(seed, 30_000, setting(&addresses(2), |_| (), hedging, |_| ()));
    let ledger = Rc::new(RefCell::new(ServerLedger::default()));
    for (number, address) in addresses(2).into_iter().enumerate() {
        let ledger = ledger.clone();
        stage.serve(address, move || SimServer::new(ledger.clone(), None).number(number));
    }
    (stage, ledger)
}

fn counted(stage: &WorkerHarness, field: fn(&PoolCounters) -> &Count) -> u64 {
    let snapshot = stage.snapshot.borrow();
    field(&snapshot.pools[&PoolId(0)].stats.slots[0].counters).get()
}

/// Numbers of hedges, of hedges that won, and of hedges that lost.
fn hedges(stage: &WorkerHarness) -> [u64; 3] {
    let all: [fn(&PoolCounters) -> &Count; 3] =
        [|c| &c.hedges, |c| &c.hedges_won, |c| &c.hedges_lost];
    all.map(|one| counted(stage, one))
}

/// The sum of a counter over both servers, and how often they lost to a hedge.
fn servers(stage: &WorkerHarness, field: fn(&ServerCounters) -> &Count) -> (u64, u64) {
    let snapshot = stage.snapshot.borrow();
    let servers = &snapshot.pools[&PoolId(0)].servers;
    let slots = || servers.iter().map(|server| &server.stats.slots[0]);
    let lost = slots().map(|slot| slot.causes[Cause::HedgeLost as usize].get()).sum();
    (slots().map(|slot| field(&slot.counters).get()).sum(), lost)
}

fn comes(stage: &WorkerHarness, notes: &ClientNotes, plan: Vec<PlannedRequest>) {
    let door = stage.open(ServiceId(0));
    let client = SimClient::new(notes.clone(), plan, false);
    stage.client(&door, 1, Duration::ZERO, client);
}

fn leave(stage: WorkerHarness) {
    stage.until(|| stage.connections() == 0);
    let live = stage.snapshot.borrow().pools[&PoolId(0)].stats.clone();
    stage.finish();
    assert_eq!(live.breakers.get(BreakerResource::Retries).in_use(), 0);
    assert_eq!(live.breakers.get(BreakerResource::Connections).in_use(), 0);
}

/// A server that reads requests and never responds, or closes after a while.
struct StallingServer(Option<Duration>);

impl ScriptedPeer for StallingServer {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if !io.take().is_empty()
            && let Some(after) = self.0
        {
            io.set_timer(after);
        }
        if matches!(what, PeerEvent::End | PeerEvent::Broken | PeerEvent::Timer) {
            io.close(what == PeerEvent::Timer);
        }
    }
}

#[test]
fn a_silent_server_is_overtaken_by_the_next_one_and_both_are_accounted_for() {
    for seed in seeds(6) {
        let (stage, ledger) = stage(seed, |_| ());
        stage.serve(addresses(1)[0], || StallingServer(None));
        let notes = ClientNotes::default();
        let begun = stage.worker.rt.update_now();
        comes(
            &stage,
            &notes,
            vec![
                PlannedRequest::get(1, "plain"),
                PlannedRequest::get(2, "chunked"),
                PlannedRequest::get(3, "plain"),
            ],
        );
        stage.until(|| notes.borrow().len() == 3);
        assert!(
            notes.borrow().iter().all(|note| note.saw == ClientOutcome::Answer(200, None)),
            "{notes:?}"
        );
        let took = stage.worker.rt.update_now().since(begun);
        assert!(took >= AFTER && took < Duration::from_secs(1), "seed {seed}: {took:?}");
        let [made, won, lost] = hedges(&stage);
        assert!(made >= 1 && made == won && lost == 0, "seed {seed}: {:?}", hedges(&stage));
        assert_eq!(ledger.borrow().order.len(), 3, "seed {seed}: the other got each once");
        let (sent, overtaken) = servers(&stage, |c| &c.requests);
        assert_eq!((sent, overtaken), (3 + made, made), "seed {seed}");
        assert_eq!(servers(&stage, |c| &c.answered).0, 3, "seed {seed}");
        assert_eq!(counted(&stage, |c| &c.retries), made, "seed {seed}: the budget pays");
        assert_eq!(stage.causes(), [], "seed {seed}");
        leave(stage);
    }
}

#[test]
fn the_first_answer_wins_and_the_second_attempt_is_cancelled() {
    for seed in seeds(12) {
        // Both servers respond after 20 to 220 ms.
        let (stage, ledger) = stage(seed, |_| ());
        let notes = ClientNotes::default();
        comes(&stage, &notes, (0..20).map(|id| PlannedRequest::get(id, "later")).collect());
        stage.until(|| notes.borrow().len() == 20);
        assert!(
            notes.borrow().iter().all(|note| note.saw == ClientOutcome::Answer(200, None)),
            "{notes:?}"
        );
        let [made, won, lost] = hedges(&stage);
        assert_eq!(made, won + lost, "seed {seed}");
        assert!(made > 5, "seed {seed}: {made}");
        let (sent, overtaken) = servers(&stage, |c| &c.requests);
        // Some attempts lose before they have a connection.
        assert!(
            sent == 20 + overtaken && sent <= 20 + made,
            "seed {seed}: {sent} {overtaken} {made}"
        );
        assert!(ledger.borrow().order.len() as u64 <= sent, "seed {seed}");
        assert_eq!(servers(&stage, |c| &c.answered).0, 20, "seed {seed}");
        leave(stage);
    }
}

#[test]
fn nothing_is_sent_twice_that_must_not_be() {
    let post = PlannedRequest { method: "POST", upload: 10, ..PlannedRequest::get(1, "later") };
    let upload =
        PlannedRequest { method: "PUT", upload: 200_000, ..PlannedRequest::get(1, "later") };
    for (what, planned, pool) in [
        ("not idempotent", post, (|_: &mut PoolConfig| ()) as fn(&mut PoolConfig)),
        ("a body that is not held", upload, |_| ()),
        ("no attempts", PlannedRequest::get(1, "later"), |pool| pool.retries = 0),
        ("no budget", PlannedRequest::get(1, "later"), |pool| {
            pool.retry.budget = Some(0);
            pool.retry.at_least = 0;
        }),
        ("a breaker", PlannedRequest::get(1, "later"), |pool| pool.breaker.retries = Some(0)),
        ("off", PlannedRequest::get(1, "later"), |pool| pool.hedge = None),
        ("a percentile of nothing", PlannedRequest::get(1, "later"), |pool| {
            let after = HedgeDelay::Percentile(50);
            pool.hedge = Some(HedgingConfig { after, at_least: Duration::ZERO });
        }),
    ] {
        for seed in seeds(4) {
            let (stage, ledger) = stage(seed, pool);
            let notes = ClientNotes::default();
            comes(&stage, &notes, vec![planned.clone()]);
            stage.until(|| notes.borrow().len() == 1);
            assert_eq!(notes.borrow()[0].saw, ClientOutcome::Answer(200, None), "{what}");
            assert_eq!(ledger.borrow().order.len(), 1, "{what}, seed {seed}");
            assert_eq!(hedges(&stage), [0; 3], "{what}, seed {seed}");
            leave(stage);
        }
    }
}

/// The connection that gets the first request closes after a while; any other one is a server's.
struct FirstRequestCloser {
    came: Rc<Cell<bool>>,
    it: Option<Box<dyn ScriptedPeer>>,
    server: Option<SimServer>,
}

impl ScriptedPeer for FirstRequestCloser {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if self.it.is_none() {
            self.it = Some(match self.came.replace(true) {
                false => Box::new(StallingServer(Some(Duration::from_millis(70)))),
                true => Box::new(self.server.take().unwrap()),
            });
        }
        self.it.as_mut().unwrap().on_event(what, io);
    }
}

#[test]
fn where_the_first_one_fails_the_second_goes_on_in_its_place() {
    for seed in seeds(8) {
        // The first attempt ends at 70 ms; the other server responds between 70 and 270 ms. The budget has no third
        // attempt.
        let (stage, ledger) =
            stage(seed, |pool| (pool.retry.budget, pool.retry.at_least) = (Some(100), 0));
        let came = Rc::new(Cell::new(false));
        for (number, address) in addresses(2).into_iter().enumerate() {
            let came = came.clone();
            let ledger = ledger.clone();
            stage.serve(address, move || FirstRequestCloser {
                came: came.clone(),
                it: None,
                server: Some(SimServer::new(ledger.clone(), None).number(number)),
            });
        }
        let notes = ClientNotes::default();
        comes(&stage, &notes, vec![PlannedRequest::get(1, "later")]);
        stage.until(|| notes.borrow().len() == 1);
        assert_eq!(notes.borrow()[0].saw, ClientOutcome::Answer(200, None), "seed {seed}");
        assert_eq!(hedges(&stage), [1, 1, 0], "seed {seed}");
        assert_eq!(ledger.borrow().order.len(), 1, "seed {seed}: one more was enough");
        assert_eq!(counted(&stage, |c| &c.retries), 1, "seed {seed}");
        assert_eq!(servers(&stage, |c| &c.requests), (2, 0), "seed {seed}");
        leave(stage);
    }
}

impl ScriptedPeer for Box<dyn ScriptedPeer> {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        self.as_mut().on_event(what, io);
    }
}

#[test]
fn where_both_fail_a_third_attempt_is_paid_for_as_well() {
    for (budget, answered) in [(Some(100), false), (None, true)] {
        // The first attempt ends at 70 ms, the second at least 60 ms after its start. The third one gets a response.
        let (stage, ledger) = stage(1, |pool| {
            pool.retry.budget = budget;
            pool.retry.at_least = 0;
            pool.retries = 5;
        });
        let came = Rc::new(Cell::new(0));
        for address in addresses(2) {
            let came = came.clone();
            let ledger = ledger.clone();
            stage.serve(address, move || -> Box<dyn ScriptedPeer> {
                came.set(came.get() + 1);
                match came.get() {
                    1 | 2 => Box::new(StallingServer(Some(Duration::from_millis(70)))),
                    _ => Box::new(SimServer::new(ledger.clone(), None)),
                }
            });
        }
        let notes = ClientNotes::default();
        comes(&stage, &notes, vec![PlannedRequest::get(1, "plain")]);
        stage.until(|| notes.borrow().len() == 1);
        let refused = ClientOutcome::Answer(503, Some(Cause::RetryBudget.name().into()));
        let want = if answered { ClientOutcome::Answer(200, None) } else { refused };
        assert_eq!(notes.borrow()[0].saw, want, "{budget:?}");
        assert_eq!(hedges(&stage), [1, 0, 0], "{budget:?}");
        assert_eq!(counted(&stage, |c| &c.retries), 1 + u64::from(answered), "{budget:?}");
        leave(stage);
    }
}

#[test]
fn a_second_server_that_fails_changes_nothing() {
    let mut all = 0;
    for seed in seeds(8) {
        let (stage, ledger) = stage(seed, |_| ());
        let end = Duration::from_millis(1 + seed);
        stage.serve(addresses(2)[1], move || StallingServer(Some(end)));
        let notes = ClientNotes::default();
        comes(&stage, &notes, (0..8).map(|id| PlannedRequest::get(id, "later")).collect());
        stage.until(|| notes.borrow().len() == 8);
        assert!(
            notes.borrow().iter().all(|note| note.saw == ClientOutcome::Answer(200, None)),
            "{notes:?}"
        );
        assert!(ledger.borrow().order.iter().all(|entry| entry.server == 0), "seed {seed}");
        let [made, won, lost] = hedges(&stage);
        assert!(won == 0 && lost <= made, "seed {seed}: {made} {won} {lost}");
        all += made - lost;
        leave(stage);
    }
    assert!(all > 0, "no second attempt failed");
}

#[test]
fn at_a_percentile_only_the_slow_ones_are_hedged_within_the_budget() {
    for seed in seeds(3) {
        let (stage, _ledger) = stage(seed, |pool| {
            let after = HedgeDelay::Percentile(90);
            pool.hedge = Some(HedgingConfig { after, at_least: Duration::ZERO });
            pool.retry.budget = Some(10);
            pool.retry.at_least = 0;
        });
        let notes = ClientNotes::default();
        comes(&stage, &notes, (0..200).map(|id| PlannedRequest::get(id, "later")).collect());
        stage.until(|| notes.borrow().len() == 200);
        let [made, ..] = hedges(&stage);
        assert!((2..=20).contains(&made), "seed {seed}: {made} of 200");
        leave(stage);
    }
}

#[test]
fn clients_that_leave_meanwhile_leave_nothing_behind() {
    for seed in seeds(12) {
        let (stage, _ledger) = stage(seed, |_| ());
        stage.serve(addresses(1)[0], || StallingServer(None));
        stage.serve(addresses(2)[1], || StallingServer(None));
        let door = stage.open(ServiceId(0));
        let notes = ClientNotes::default();
        for n in 0..6 {
            let plan = vec![PlannedRequest {
                leaves: Some(n % 2 == 0),
                ..PlannedRequest::get(n, "plain")
            }];
            let client = SimClient::new(notes.clone(), plan, false);
            stage.client(&door, n, Duration::from_millis(n * 20), client);
        }
        stage.pass(Duration::from_millis(40 + 10 * seed), |_| ());
        let live = Arc::clone(&stage.snapshot.borrow().pools[&PoolId(0)].stats);
        stage.pass(Duration::from_secs(30), |_| ());
        assert_eq!(notes.borrow().len(), 6, "seed {seed}");
        assert_eq!(live.breakers.get(BreakerResource::Retries).in_use(), 0, "seed {seed}");
        leave(stage);
    }
}
