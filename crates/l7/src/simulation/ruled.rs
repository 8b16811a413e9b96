//! Stories of rules and stickiness: where requests go, and that a busy mirror or a full server changes no answer.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::config::{
    Action, Affinity, Condition, Cookie, CookieMode, Gone, Match, Mirror, PathPattern, Rule,
    StickyBy, WithoutServers,
};
use model::id::{PoolId, ServerId, ServiceId};
use model::pick::Rng;
use model::rules::Ruling;
use model::snapshot::{PoolView, Snapshot};

use super::client::{Client, Notes, Saw};
use super::server::{Ledger, Server};
use super::stage::{Stage, addresses, seeds, setting};
use super::stories::{Scene, plan};

fn rule(when: Condition, action: Action) -> Rule {
    Rule {
        name: None,
        when,
        action,
        mirror: None,
        rewrite: None,
        limit: None,
        priority: None,
        without_servers: WithoutServers::Pool,
    }
}

/// A second pool, of these servers, and these rules over both.
fn ruled(mut snapshot: Snapshot, from: usize, rules: Vec<Rule>) -> Snapshot {
    let base = snapshot.pools[&PoolId(0)].clone();
    let (mut first, mut second) = (base.servers.clone(), base.servers.clone());
    first.truncate(from);
    second.drain(..from);
    for server in &mut second {
        server.id = ServerId(server.id.0 + 100);
    }
    let mut config = base.config.clone();
    Arc::make_mut(&mut config).name = "second".into();
    let live = base.live.clone();
    let pool = |id, config, servers| {
        Arc::new(PoolView { id, config, tls: None, live: live.clone(), servers })
    };
    snapshot.pools.insert(PoolId(0), pool(PoolId(0), base.config.clone(), first));
    snapshot.pools.insert(PoolId(1), pool(PoolId(1), config, second));
    let view = snapshot.services.get_mut(&ServiceId(0)).and_then(Arc::get_mut).unwrap();
    Arc::make_mut(&mut view.config).rules = rules;
    let id = |name: &str| Some(PoolId(u32::from(name == "second")));
    view.rules = Ruling::new(&view.config, id, 1, None).map(Arc::new);
    snapshot
}

#[test]
fn mirrors_change_no_answer_whatever_becomes_of_their_copies() {
    for seed in seeds(12) {
        let copies = Rule {
            mirror: Some(Mirror { pool: "second".into(), percent: 100, at_once: 2 }),
            ..rule(Condition::All(Vec::new()), Action::Pool(None))
        };
        let snapshot = ruled(setting(&addresses(4), |_| {}, |_| {}, |_| {}), 2, vec![copies]);
        let ruling = snapshot.services[&ServiceId(0)].rules.clone().unwrap();
        let stage = Stage::new(seed, 16 * 1024, snapshot);
        let (ledger, copied) = (Rc::new(RefCell::default()), Rc::new(RefCell::<Ledger>::default()));
        for (at, address) in addresses(4).into_iter().enumerate() {
            // One server of the mirror refuses every connection.
            let ledger = if at < 2 { ledger.clone() } else { copied.clone() };
            if at < 3 {
                stage.serve(address, move || Server::new(ledger.clone(), None));
            }
        }
        let scene = Scene {
            seed,
            clients: 8,
            modes: &["plain", "chunked", "closing"],
            idle: None,
            dead: false,
            leaving: false,
            streams: seed % 2 == 1,
            methods: &["GET", "HEAD"],
        };
        let (door, notes) = (stage.open(ServiceId(0)), Notes::default());
        let mut rng = Rng::new(seed);
        let (mut next_id, mut planned) = (1000, 0);
        for n in 0..scene.clients {
            let plan = plan(&scene, &mut rng, &mut next_id);
            planned += plan.len();
            let client = Client::new(notes.clone(), plan, false);
            stage.client(&door, n, Duration::from_micros(rng.below(200_000)), client);
        }
        stage.until(|| notes.borrow().len() >= planned && stage.connections() == 0);
        for (planned, saw) in notes.borrow().iter() {
            assert!(matches!(saw, Saw::Answer(200, None)), "seed {seed}: {planned:?} saw {saw:?}");
        }
        let counters = &ruling.live[0].slots[0].counters;
        stage.until(|| {
            let settled = counters.mirrored.get() + counters.mirror_dropped.get();
            settled == counters.hits.get() && stage.worker.mirroring.get() == 0
        });
        assert_eq!(counters.hits.get() as usize, planned, "seed {seed}");
        assert!(counters.mirrored.get() > 0, "seed {seed}: nothing was copied");
        stage.leave();
    }
}

#[test]
fn clients_with_a_cookie_stay_and_paths_choose_pools() {
    for seed in seeds(12) {
        let path = |text: &str| PathPattern::parse(text).unwrap();
        let rules = vec![
            rule(Condition::Path(vec![path("/nothing/*")]), Action::Deny),
            rule(Condition::Header(vec![Match::field("x-none").unwrap()]), Action::Deny),
            rule(Condition::Method(vec!["HEAD".into()]), Action::Pool(Some("second".into()))),
        ];
        let sticky = Affinity {
            by: StickyBy::Cookie(Cookie {
                name: "SRV".into(),
                mode: CookieMode::Insert,
                secure: false,
                http_only: true,
                same_site: "Lax",
            }),
            time: None,
            entries: 0,
            gone: Gone::Choose,
            spill: false,
            drain: Duration::ZERO,
            share: None,
        };
        let base = setting(&addresses(4), |service| service.sticky = Some(sticky), |_| {}, |_| {});
        let snapshot = ruled(base, 2, rules);
        let ruling = snapshot.services[&ServiceId(0)].rules.clone().unwrap();
        let stage = Stage::new(seed, 16 * 1024, snapshot);
        let ledgers = [Rc::new(RefCell::<Ledger>::default()), Rc::new(RefCell::default())];
        for (at, address) in addresses(4).into_iter().enumerate() {
            let ledger = ledgers[at / 2].clone();
            stage.serve(address, move || Server::new(ledger.clone(), None));
        }
        let scene = Scene {
            seed,
            clients: 8,
            modes: &["plain", "chunked"],
            idle: None,
            dead: false,
            leaving: false,
            streams: seed % 2 == 1,
            methods: &["GET", "HEAD"],
        };
        let (door, notes) = (stage.open(ServiceId(0)), Notes::default());
        let mut rng = Rng::new(seed);
        let (mut next_id, mut planned) = (1000, 0);
        for n in 0..scene.clients {
            let plan = plan(&scene, &mut rng, &mut next_id);
            planned += plan.len();
            stage.client(&door, n, Duration::ZERO, Client::new(notes.clone(), plan, false));
        }
        stage.until(|| notes.borrow().len() >= planned && stage.connections() == 0);
        let (mut heads, mut gets) = (0, 0);
        for (planned, saw) in notes.borrow().iter() {
            assert!(matches!(saw, Saw::Answer(200, None)), "seed {seed}: {planned:?} saw {saw:?}");
            let of = &ledgers[usize::from(planned.method == "HEAD")];
            assert!(of.borrow().received.contains_key(&planned.id), "seed {seed}: {planned:?}");
            *if planned.method == "HEAD" { &mut heads } else { &mut gets } += 1;
        }
        let hits: Vec<u64> = ruling.live.iter().map(|live| live.sum(|c| &c.hits)).collect();
        assert_eq!(hits, [0, 0, heads], "seed {seed}: {gets} others");
        stage.leave();
    }
}
