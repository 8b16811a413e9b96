//! Scenarios of rules with their own timeouts and retries: they count for what the rule takes, and for nothing else.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::cause::Cause;
use model::config::{
    Condition, NoServersAction, PathPattern, PoolConfig, RuleActionConfig, RuleConfig,
    RuleOverrides, RuleRetry, RuleTimeouts,
};
use model::id::{PoolId, ServiceId};
use model::rules::ServiceRules;
use model::snapshot::WorkerSnapshot;

use super::client::{ClientNotes, ClientOutcome, PlannedRequest, RequestNote, SimClient};
use super::harness::{WorkerHarness, addresses, seeds, setting};
use super::server::{ServerLedger, SimServer};

/// A rule with these settings for one mode of the servers.
pub(super) fn ruled(
    mut snapshot: WorkerSnapshot,
    mode: &str,
    overrides: RuleOverrides,
) -> WorkerSnapshot {
    let rule = RuleConfig {
        name: None,
        when: Condition::Path(vec![PathPattern::parse(&format!("/{mode}/*")).unwrap()]),
        auth: Default::default(),
        action: RuleActionConfig::Pool(None),
        mirror: None,
        rewrite: None,
        limit: None,
        overrides: Some(Arc::new(overrides)),
        priority: None,
        without_servers: NoServersAction::Pool,
    };
    let view = snapshot.services.get_mut(&ServiceId(0)).and_then(Arc::get_mut).unwrap();
    Arc::make_mut(&mut view.config).rules = vec![rule];
    view.rules = ServiceRules::new(&view.config, |_| Some(PoolId(0)), 1, None).map(Arc::new);
    snapshot
}

/// What became of requests, and how often servers received each.
struct RequestRecords {
    notes: Vec<RequestNote>,
    ledger: ServerLedger,
}

/// Clients that send one request of each mode, one after the other. A rule takes the first mode.
fn run(
    seed: u64,
    modes: &[&'static str],
    overrides: RuleOverrides,
    pool: impl FnOnce(&mut PoolConfig),
) -> RequestRecords {
    let snapshot = setting(&addresses(3), |_| (), pool, |_| ());
    let stage = WorkerHarness::new(seed, 30_000, ruled(snapshot, modes[0], overrides));
    let ledger = Rc::new(RefCell::new(ServerLedger::default()));
    for (number, address) in addresses(3).into_iter().enumerate() {
        let ledger = ledger.clone();
        stage.serve(address, move || SimServer::new(ledger.clone(), None).number(number));
    }
    let door = stage.open(ServiceId(0));
    let notes = ClientNotes::default();
    let mut id = 0;
    for client in 0..12 {
        for mode in modes {
            id += 1;
            let plan = vec![PlannedRequest::get(id, mode)];
            let after = Duration::from_millis(client * 7);
            stage.client(&door, id, after, SimClient::new(notes.clone(), plan, false));
        }
    }
    stage.until(|| notes.borrow().len() as u64 == id && stage.connections() == 0);
    stage.finish();
    RequestRecords { notes: notes.take(), ledger: ledger.take() }
}

#[test]
fn only_what_a_rule_takes_waits_as_the_rule_says() {
    for seed in seeds(8) {
        // Servers answer `later` after less than 300 ms, and `silent` never.
        let timeout =
            RuleTimeouts { first_byte: Some(Duration::from_secs(10)), ..Default::default() };
        let overrides = RuleOverrides { timeout, ..Default::default() };
        let ended = run(seed, &["later", "silent", "plain"], overrides, |pool| {
            pool.timeout.first_byte = Duration::from_millis(10);
        });
        for RequestNote { planned, saw } in &ended.notes {
            let want = match planned.mode {
                "silent" => ClientOutcome::Answer(504, Some(Cause::FirstByteTimeout.name().into())),
                _ => ClientOutcome::Answer(200, None),
            };
            assert_eq!(*saw, want, "seed {seed}: {planned:?}");
        }
    }
}

#[test]
fn only_what_a_rule_takes_has_its_retries() {
    for seed in seeds(8) {
        let overrides = RuleOverrides { retries: Some(0), ..Default::default() };
        let ended = run(seed, &["die", "half"], overrides, |pool| {
            pool.retry.budget = None;
            // A request on a kept connection that ends is sent once more, which is no retry.
            pool.limit.idle = 0;
        });
        let mut again = 0;
        for RequestNote { planned, .. } in &ended.notes {
            let received = ended.ledger.received[&planned.id];
            match planned.mode {
                "die" => assert_eq!(received, 1, "seed {seed}: {planned:?}"),
                _ => again += received - 1,
            }
        }
        assert!(again > 0, "seed {seed}");
    }
}

#[test]
fn with_unsent_only_no_server_receives_a_request_again() {
    for seed in seeds(12) {
        for mode in ["die", "cut", "garbage", "half", "plain", "closing", "silent-close"] {
            let retry = RuleRetry { unsent_only: Some(true), ..Default::default() };
            let overrides = RuleOverrides { retry, ..Default::default() };
            let ended = run(seed, &[mode], overrides, |pool| pool.retry.budget = None);
            assert!(ended.ledger.received.values().all(|times| *times == 1), "seed {seed}: {mode}");
        }
    }
}
