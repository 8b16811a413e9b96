//! Scenarios of servers that fail often or permanently. Retries stay within their budget and go to another server, and
//! requests leave a server that is marked as down.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::cause::Cause;
use model::config::{PoolConfig, Priority, StatusRange, StatusRanges};
use model::id::{PoolId, ServerId, ServiceId};
use model::snapshot::{PoolView, ServerState, ServerView, WorkerSnapshot};
use model::stats::pool::PoolCounters;

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote, SimClient};
use super::harness::{WorkerHarness, addresses, seeds, setting};
use super::server::{ServerLedger, SimServer};
use super::world::{PeerEvent, PeerIo, ScriptedPeer};

fn get(id: u64, mode: &'static str) -> PlannedRequest {
    PlannedRequest {
        method: "GET",
        mode,
        size: 300,
        upload: 0,
        chunked: false,
        id,
        pause: Duration::ZERO,
        leaves: None,
    }
}

fn serve(stage: &WorkerHarness, servers: u16) -> Rc<RefCell<ServerLedger>> {
    let ledger = Rc::new(RefCell::new(ServerLedger::default()));
    for (number, address) in addresses(servers).into_iter().enumerate() {
        let ledger = ledger.clone();
        stage.serve(address, move || SimServer::new(ledger.clone(), None).number(number));
    }
    ledger
}

fn counted(stage: &WorkerHarness, field: fn(&PoolCounters) -> &model::stats::Count) -> u64 {
    let snapshot = stage.snapshot.borrow();
    let pools = snapshot.pools.values();
    pools.flat_map(|pool| &pool.stats.slots).map(|slot| field(&slot.counters).get()).sum()
}

/// The result of a storm, in requests.
struct StormResult {
    /// Got a good response from a server.
    good: u64,
    /// Used all attempts that the pool allows without a good response.
    spent: u64,
    /// Got no retry because the budget was used up.
    refused: u64,
    /// Attempts that servers received.
    offered: u64,
    /// Retries that were allowed.
    retries: u64,
}

/// Clients with one request each over four seconds, at servers that fail in this mode.
fn storm(
    seed: u64,
    mode: &'static str,
    clients: u64,
    pool: impl FnOnce(&mut PoolConfig),
) -> StormResult {
    // No server gets a request again that it may have processed.
    let stage = WorkerHarness::new(seed, 30_000, setting(&addresses(10), |_| (), pool, |_| ()));
    let ledger = serve(&stage, 10);
    let door = stage.open(ServiceId(0));
    let notes = ClientNotes::default();
    for n in 0..clients {
        let client = SimClient::new(notes.clone(), vec![get(n, mode)], false);
        stage.client(&door, n, Duration::from_micros(n * 4_000_000 / clients), client);
    }
    stage.until(|| notes.borrow().len() as u64 == clients && stage.connections() == 0);
    let retries = counted(&stage, |c| &c.retries);
    let refused = counted(&stage, |c| &c.retries_refused);
    let most = u32::from(stage.snapshot.borrow().pools[&PoolId(0)].config.retries) + 1;
    let mut good = 0;
    let mut spent = 0;
    for RequestNote { planned, saw } in notes.borrow().iter() {
        let ClientOutcome::Answer(status, cause) = saw else {
            panic!("seed {seed}: {planned:?} saw {saw:?}")
        };
        match (status, cause.as_deref()) {
            (200, None) => good += 1,
            (500..=599, Some(cause)) if cause == Cause::RetryBudget.name() => (),
            (500..=599, _) => {
                let received = ledger.borrow().received[&planned.id];
                assert!(received >= most, "seed {seed}: {planned:?} had {received} attempts");
                spent += 1;
            }
            _ => panic!("seed {seed}: {planned:?} saw {saw:?}"),
        }
    }
    assert_eq!(good + spent + refused, clients, "seed {seed}: good, spent, refused");
    assert_eq!(counted(&stage, |c| &c.requests), clients, "seed {seed}");
    assert_eq!(
        stage.cause_count(Cause::RetryBudget),
        refused,
        "seed {seed}: each refusal ends a request"
    );
    let offered = ledger.borrow().received.values().map(|times| u64::from(*times)).sum();
    stage.finish();
    StormResult { good, spent, refused, offered, retries }
}

#[test]
fn what_fails_half_of_the_time_gets_no_more_than_the_budget_and_serves_what_that_can_give() {
    let mut answered = 0;
    let mut offered = 0;
    let mut asked = 0;
    for seed in seeds(12) {
        let budget =
            |pool: &mut PoolConfig| (pool.retry.budget, pool.retry.at_least) = (Some(20), 0);
        let StormResult { good, offered: got, retries, .. } = storm(seed, "half", 400, budget);
        assert!(retries * 100 <= 400 * 20, "seed {seed}: {retries} further attempts");
        assert!(got <= 400 + retries, "seed {seed}: {got} requests reached servers");
        answered += good;
        offered += got;
        asked += 400;
    }
    assert!(offered * 100 <= asked * 125, "{offered} offered for {asked}");
    assert!(answered * 1000 >= offered * 475, "{answered} answered of {offered} offered");
}

#[test]
fn without_a_budget_every_request_has_its_attempts() {
    for seed in seeds(4) {
        let none = |pool: &mut PoolConfig| (pool.retry.budget, pool.retries) = (None, 9);
        let StormResult { spent, refused, offered, .. } = storm(seed, "half", 200, none);
        assert_eq!(refused, 0, "seed {seed}");
        // One in 1,024 fails ten times.
        assert!(spent <= 4 && offered > 300, "seed {seed}: {spent} failed, {offered} offered");
    }
}

#[test]
fn a_few_requests_have_the_floor() {
    for seed in seeds(4) {
        let StormResult { spent, refused, .. } = storm(seed, "half", 20, |pool| pool.retries = 9);
        assert!(refused == 0 && spent <= 2, "seed {seed}: {refused} refused, {spent} failed");
    }
}

#[test]
fn answers_of_a_wanted_status_are_asked_for_again_and_passed_on_in_the_end() {
    for seed in seeds(6) {
        let again = |pool: &mut PoolConfig| {
            pool.retry.on = StatusRanges(vec![StatusRange { first: 503, last: 503 }]);
            pool.retries = 9;
        };
        let StormResult { spent, refused, .. } = storm(seed, "busy-half", 60, again);
        assert!(refused == 0 && spent <= 3, "seed {seed}: {refused} refused, {spent} failed");
        let all = storm(seed, "busy", 20, |pool| {
            pool.retry.on = StatusRanges(vec![StatusRange { first: 503, last: 503 }]);
            pool.retries = 2;
        });
        assert_eq!((all.good, all.offered, all.retries), (0, 60, 40), "seed {seed}");
    }
}

#[test]
fn what_a_silent_server_took_is_not_given_to_another() {
    for seed in seeds(6) {
        for (servers, asked, offered, waited) in
            [(1, false, 1, 20), (3, false, 1, 20), (1, true, 1, 20)]
        {
            let wish = |pool: &mut PoolConfig| pool.retry.wishes.on_timeout = asked;
            let stage = WorkerHarness::new(
                seed,
                30_000,
                setting(&addresses(servers), |_| (), wish, |_| ()),
            );
            let ledger = serve(&stage, servers);
            let door = stage.open(ServiceId(0));
            let notes = ClientNotes::default();
            let begun = stage.worker.rt.update_now();
            let client = SimClient::new(notes.clone(), vec![get(1, "silent")], false);
            stage.client(&door, 1, Duration::ZERO, client);
            stage.until(|| notes.borrow().len() == 1);
            let took = stage.worker.rt.update_now().since(begun);
            let cause = Some("first-byte-timeout".to_owned());
            assert_eq!(notes.borrow()[0].saw, ClientOutcome::Answer(504, cause), "seed {seed}");
            assert_eq!(ledger.borrow().received[&1], offered, "seed {seed}: {servers}, {asked}");
            assert_eq!(took.as_secs(), waited, "seed {seed}: {servers}, {asked}");
            stage.finish();
        }
    }
}

#[test]
fn all_attempts_together_have_one_deadline() {
    for seed in seeds(6) {
        // Three silent servers with 20 s each, and 30 s for all attempts.
        let wish = |pool: &mut PoolConfig| {
            pool.retry.wishes.on_timeout = true;
            pool.timeout.attempts = Duration::from_secs(30);
        };
        let stage = WorkerHarness::new(seed, 30_000, setting(&addresses(3), |_| (), wish, |_| ()));
        let ledger = serve(&stage, 3);
        let door = stage.open(ServiceId(0));
        let notes = ClientNotes::default();
        let begun = stage.worker.rt.update_now();
        stage.client(
            &door,
            1,
            Duration::ZERO,
            SimClient::new(notes.clone(), vec![get(1, "silent")], false),
        );
        stage.until(|| notes.borrow().len() == 1);
        assert_eq!(stage.worker.rt.update_now().since(begun).as_secs(), 30, "seed {seed}");
        let cause = Some("first-byte-timeout".to_owned());
        assert_eq!(notes.borrow()[0].saw, ClientOutcome::Answer(504, cause), "seed {seed}");
        let order = &ledger.borrow().order;
        assert!(order.len() == 2 && order[0].server != order[1].server, "seed {seed}: {order:?}");
        stage.finish();
    }
}

#[test]
fn no_server_is_asked_twice_for_what_it_may_have_done() {
    for seed in seeds(10) {
        // An idle connection that its server has closed does not count against the server.
        let many = |pool: &mut PoolConfig| {
            pool.retries = 9;
            pool.retry.budget = None;
            pool.limit.idle = 0;
        };
        let stage = WorkerHarness::new(seed, 30_000, setting(&addresses(3), |_| (), many, |_| ()));
        let ledger = serve(&stage, 3);
        let door = stage.open(ServiceId(0));
        let notes = ClientNotes::default();
        for n in 0..12 {
            let mode = ["die", "garbage", "half"][(n % 3) as usize];
            let client = SimClient::new(notes.clone(), vec![get(n, mode)], false);
            stage.client(&door, n, Duration::from_millis(n), client);
        }
        stage.until(|| notes.borrow().len() == 12 && stage.connections() == 0);
        let mut pairs: Vec<_> =
            ledger.borrow().order.iter().map(|entry| (entry.id, entry.server)).collect();
        pairs.sort_unstable();
        let asked = pairs.len();
        pairs.dedup();
        assert_eq!(pairs.len(), asked, "seed {seed}: {:?}", ledger.borrow().order);
        let garbage = pairs.iter().filter(|(id, _)| id % 3 == 1).count();
        assert_eq!(garbage, 4, "seed {seed}: a malformed answer ends it");
        stage.finish();
    }
}

#[test]
fn a_backup_is_asked_once_all_others_have_failed_a_request_that_they_had() {
    for (backup, asked) in [(true, 3), (false, 2)] {
        let pool = |pool: &mut PoolConfig| {
            pool.retries = 2;
            pool.retry.backup = backup;
            pool.retry.budget = None;
            pool.limit.idle = 0;
        };
        let last = |server: &mut ServerView| {
            if server.id == ServerId(2) {
                Arc::make_mut(&mut server.config).priority = Priority::BACKUP;
            }
        };
        let stage = WorkerHarness::new(7, 30_000, setting(&addresses(3), |_| (), pool, last));
        let ledger = serve(&stage, 3);
        let door = stage.open(ServiceId(0));
        let notes = ClientNotes::default();
        let client = SimClient::new(notes.clone(), vec![get(1, "die")], false);
        stage.client(&door, 1, Duration::ZERO, client);
        stage.until(|| notes.borrow().len() == 1 && stage.connections() == 0);
        let servers: Vec<usize> = ledger.borrow().order.iter().map(|entry| entry.server).collect();
        assert_eq!(servers.len(), asked, "{servers:?}");
        assert_eq!(servers.contains(&2), backup, "{servers:?}");
        assert!(!backup || servers[2] == 2, "{servers:?}");
        stage.finish();
    }
}

/// Reads requests and never responds.
struct SilentServer;

impl ScriptedPeer for SilentServer {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        io.take();
        if matches!(what, PeerEvent::End | PeerEvent::Broken) {
            io.close(false);
        }
    }
}

/// The same snapshot with its first server in this state.
fn first_is(snapshot: &WorkerSnapshot, state: ServerState) -> WorkerSnapshot {
    let pool = &snapshot.pools[&PoolId(0)];
    let mut servers = pool.servers.clone();
    servers[0].state = state;
    let config = pool.config.clone();
    let live = pool.stats.clone();
    let pool = PoolView { id: pool.id, config, tls: None, stats: live, servers };
    let pools = [(PoolId(0), Arc::new(pool))].into();
    WorkerSnapshot { version: snapshot.version + 1, pools, ..snapshot.clone() }
}

#[test]
fn requests_leave_a_server_that_is_found_down_while_they_wait_for_it() {
    for seed in seeds(8) {
        let stage =
            WorkerHarness::new(seed, 30_000, setting(&addresses(2), |_| (), |_| (), |_| ()));
        let ledger = serve(&stage, 2);
        stage.serve(addresses(1)[0], || SilentServer);
        let door = stage.open(ServiceId(0));
        let notes = ClientNotes::default();
        for n in 0..16 {
            // Every fourth request is not idempotent: it keeps waiting, since the server may have processed it.
            let method = if n % 4 == 3 { "POST" } else { "GET" };
            let plan = vec![PlannedRequest { method, ..get(n, "plain") }];
            stage.client(
                &door,
                n,
                Duration::from_millis(n),
                SimClient::new(notes.clone(), plan, false),
            );
        }
        stage.pass(Duration::from_secs(2), |_| ());
        let waiting = 16 - notes.borrow().len();
        assert!(waiting > 0, "seed {seed}: nobody waits for the server that says nothing");
        let posts = |notes: &ClientNotes| {
            notes.borrow().iter().filter(|note| note.planned.method == "POST").count()
        };
        let waiting_posts = 4 - posts(&notes);
        let down = first_is(&stage.snapshot.borrow(), ServerState::Down);
        stage.install(down);
        stage.pass(Duration::from_secs(1), |_| ());
        let moved = waiting - waiting_posts;
        assert_eq!(counted(&stage, |c| &c.moved), moved as u64, "seed {seed}");
        assert_eq!(notes.borrow().len(), 16 - waiting_posts, "seed {seed}");
        assert!(
            notes.borrow().iter().all(|note| note.saw == ClientOutcome::Answer(200, None)),
            "seed {seed}: {notes:?}"
        );
        assert!(ledger.borrow().order.iter().all(|entry| entry.server == 1), "seed {seed}");
        stage.until(|| stage.connections() == 0);
        assert_eq!(stage.cause_count(Cause::FirstByteTimeout), waiting_posts as u64, "seed {seed}");
        stage.finish();
    }
}

#[test]
fn where_nothing_else_is_up_they_wait_on() {
    let stage = WorkerHarness::new(1, 30_000, setting(&addresses(1), |_| (), |_| (), |_| ()));
    stage.serve(addresses(1)[0], || SilentServer);
    let door = stage.open(ServiceId(0));
    let notes = ClientNotes::default();
    stage.client(
        &door,
        1,
        Duration::ZERO,
        SimClient::new(notes.clone(), vec![get(1, "plain")], false),
    );
    stage.pass(Duration::from_secs(1), |_| ());
    let down = first_is(&stage.snapshot.borrow(), ServerState::Down);
    stage.install(down);
    stage.pass(Duration::from_secs(1), |_| ());
    assert_eq!((notes.borrow().len(), counted(&stage, |c| &c.moved)), (0, 0));
    stage.until(|| stage.connections() == 0);
    stage.finish();
}
