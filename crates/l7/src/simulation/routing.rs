//! Scenarios of rules and affinity: where requests go, and that a busy mirror or a full server changes no response.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::config::{
    AffinityConfig, AffinityCookie, AffinityKey, Condition, CookieMode, Mirror, NameValuePattern,
    NoServersAction, PathPattern, RuleActionConfig, RuleConfig, UnavailableServerAction,
};
use model::id::{PoolId, ServerId, ServiceId};
use model::load_balancing::Rng;
use model::rules::ServiceRules;
use model::snapshot::{PoolView, WorkerSnapshot};

use super::client::{ClientNotes, ClientOutcome, RequestNote, SimClient};
use super::harness::{WorkerHarness, addresses, seeds, setting};
use super::scenarios::{Scenario, plan};
use super::server::{ServerLedger, SimServer};

fn rule(when: Condition, action: RuleActionConfig) -> RuleConfig {
    RuleConfig {
        name: None,
        when,
        action,
        mirror: None,
        rewrite: None,
        limit: None,
        overrides: None,
        priority: None,
        auth: Default::default(),
        without_servers: NoServersAction::Pool,
    }
}

/// Adds a second pool of these servers, and these rules over both pools.
fn ruled(mut snapshot: WorkerSnapshot, from: usize, rules: Vec<RuleConfig>) -> WorkerSnapshot {
    let base = snapshot.pools[&PoolId(0)].clone();
    let mut first = base.servers.clone();
    let mut second = base.servers.clone();
    first.truncate(from);
    second.drain(..from);
    for server in &mut second {
        server.id = ServerId(server.id.0 + 100);
    }
    let mut config = base.config.clone();
    Arc::make_mut(&mut config).name = "second".into();
    let live = base.stats.clone();
    let pool = |id, config, servers| {
        Arc::new(PoolView { id, config, tls: None, stats: live.clone(), servers })
    };
    snapshot.pools.insert(PoolId(0), pool(PoolId(0), base.config.clone(), first));
    snapshot.pools.insert(PoolId(1), pool(PoolId(1), config, second));
    let view = snapshot.services.get_mut(&ServiceId(0)).and_then(Arc::get_mut).unwrap();
    Arc::make_mut(&mut view.config).rules = rules;
    let id = |name: &str| Some(PoolId(u32::from(name == "second")));
    view.rules = ServiceRules::new(&view.config, id, 1, None).map(Arc::new);
    snapshot
}

#[test]
fn mirrors_change_no_answer_whatever_becomes_of_their_copies() {
    for seed in seeds(12) {
        let copies = RuleConfig {
            mirror: Some(Mirror { pool: "second".into(), percent: 100, at_once: 2 }),
            ..rule(Condition::All(Vec::new()), RuleActionConfig::Pool(None))
        };
        let snapshot = ruled(setting(&addresses(4), |_| {}, |_| {}, |_| {}), 2, vec![copies]);
        let ruling = snapshot.services[&ServiceId(0)].rules.clone().unwrap();
        let stage = WorkerHarness::new(seed, 16 * 1024, snapshot);
        let ledger = Rc::new(RefCell::default());
        let copied = Rc::new(RefCell::<ServerLedger>::default());
        for (at, address) in addresses(4).into_iter().enumerate() {
            // One server of the mirror refuses every connection.
            let ledger = if at < 2 { ledger.clone() } else { copied.clone() };
            if at < 3 {
                stage.serve(address, move || SimServer::new(ledger.clone(), None));
            }
        }
        let scene = Scenario {
            seed,
            clients: 8,
            modes: &["plain", "chunked", "closing"],
            idle: None,
            dead: false,
            leaving: false,
            streams: seed % 2 == 1,
            methods: &["GET", "HEAD"],
        };
        let door = stage.open(ServiceId(0));
        let notes = ClientNotes::default();
        let mut rng = Rng::new(seed);
        let mut next_id = 1000;
        let mut planned = 0;
        for n in 0..scene.clients {
            let plan = plan(&scene, &mut rng, &mut next_id);
            planned += plan.len();
            let client = SimClient::new(notes.clone(), plan, false);
            stage.client(&door, n, Duration::from_micros(rng.below(200_000)), client);
        }
        stage.until(|| notes.borrow().len() >= planned && stage.connections() == 0);
        for RequestNote { planned, saw } in notes.borrow().iter() {
            assert!(
                matches!(saw, ClientOutcome::Answer(200, None)),
                "seed {seed}: {planned:?} saw {saw:?}"
            );
        }
        let counters = &ruling.stats[0].workers[0].counters;
        stage.until(|| {
            let settled = counters.mirrored.get() + counters.mirror_dropped.get();
            settled == counters.hits.get() && stage.worker.mirroring.get() == 0
        });
        assert_eq!(counters.hits.get() as usize, planned, "seed {seed}");
        assert!(counters.mirrored.get() > 0, "seed {seed}: nothing was copied");
        stage.finish();
    }
}

/// Affinity by an inserted cookie `SRV`.
fn inserted_cookie() -> AffinityConfig {
    AffinityConfig {
        by: AffinityKey::Cookie(AffinityCookie {
            name: "SRV".into(),
            mode: CookieMode::Insert,
            secure: false,
            http_only: true,
            same_site: Some("Lax"),
            domain: None,
            hide: false,
            no_cache: false,
        }),
        time: None,
        entries: 0,
        when_down: UnavailableServerAction::Choose,
        spill: false,
        drain: Duration::ZERO,
        share: None,
    }
}

#[test]
fn clients_with_a_cookie_stay_and_paths_choose_pools() {
    for seed in seeds(12) {
        let path = |text: &str| PathPattern::parse(text).unwrap();
        let rules = vec![
            rule(Condition::Path(vec![path("/nothing/*")]), RuleActionConfig::Deny),
            rule(
                Condition::Header(vec![NameValuePattern::parse_field("x-none").unwrap()]),
                RuleActionConfig::Deny,
            ),
            rule(
                Condition::Method(vec!["HEAD".into()]),
                RuleActionConfig::Pool(Some("second".into())),
            ),
        ];
        let base = setting(
            &addresses(4),
            |service| service.sticky = Some(inserted_cookie()),
            |_| {},
            |_| {},
        );
        let snapshot = ruled(base, 2, rules);
        let ruling = snapshot.services[&ServiceId(0)].rules.clone().unwrap();
        let stage = WorkerHarness::new(seed, 16 * 1024, snapshot);
        let ledgers = [Rc::new(RefCell::<ServerLedger>::default()), Rc::new(RefCell::default())];
        for (at, address) in addresses(4).into_iter().enumerate() {
            let ledger = ledgers[at / 2].clone();
            stage.serve(address, move || SimServer::new(ledger.clone(), None));
        }
        let scene = Scenario {
            seed,
            clients: 8,
            modes: &["plain", "chunked"],
            idle: None,
            dead: false,
            leaving: false,
            streams: seed % 2 == 1,
            methods: &["GET", "HEAD"],
        };
        let door = stage.open(ServiceId(0));
        let notes = ClientNotes::default();
        let mut rng = Rng::new(seed);
        let mut next_id = 1000;
        let mut planned = 0;
        for n in 0..scene.clients {
            let plan = plan(&scene, &mut rng, &mut next_id);
            planned += plan.len();
            stage.client(&door, n, Duration::ZERO, SimClient::new(notes.clone(), plan, false));
        }
        stage.until(|| notes.borrow().len() >= planned && stage.connections() == 0);
        let mut heads = 0;
        let mut gets = 0;
        for RequestNote { planned, saw } in notes.borrow().iter() {
            assert!(
                matches!(saw, ClientOutcome::Answer(200, None)),
                "seed {seed}: {planned:?} saw {saw:?}"
            );
            let of = &ledgers[usize::from(planned.method == "HEAD")];
            assert!(of.borrow().received.contains_key(&planned.id), "seed {seed}: {planned:?}");
            *if planned.method == "HEAD" { &mut heads } else { &mut gets } += 1;
        }
        let hits: Vec<u64> = ruling.stats.iter().map(|live| live.sum(|c| &c.hits)).collect();
        assert_eq!(hits, [0, 0, heads], "seed {seed}: {gets} others");
        stage.finish();
    }
}
