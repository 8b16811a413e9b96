//! Pictures for tests, from a configuration's text. Nothing listens and nothing is probed.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use model::config::{Admin, Config, Host, Initial, Server};
use model::id::{ListenerId, PoolId, ServerId, ServiceId};
use model::live::pool::PoolLive;
use model::live::{ServerLive, ServiceLive};
use model::snapshot::{PoolView, ServerState, ServerView, ServiceView, Snapshot};

use crate::control::handle::Order;
use crate::control::{
    Control, Hand, Judged, Judgement, ListenerFacts, Origin, Picture, Resolved, ServerFacts, Way,
};
use crate::event::Events;

/// A picture of generation 1; ids are given in the order of names.
pub fn picture(text: &str, workers: usize) -> Picture {
    let checked = model::config::load(text, "test.toml").unwrap();
    let config = Arc::new(checked.config.clone());
    let now = SystemTime::now();
    let mut servers = HashMap::new();
    let snapshot = Arc::new(snapshot(&config, workers, &mut servers, now));
    let mut listeners = std::collections::BTreeMap::new();
    for view in snapshot.services.values() {
        for address in &view.config.listen {
            let id = ListenerId(listeners.len() as u32);
            let service_name = view.config.name.clone();
            listeners.insert(
                *address,
                ListenerFacts { id, service: view.id, service_name, sockets: workers },
            );
        }
    }
    Picture {
        generation: 1,
        since: now,
        started: now,
        digest: "0".into(),
        origin: Origin::new("test", Way::Start),
        text: text.into(),
        file: "test.toml".into(),
        checked: Arc::new(checked),
        config,
        snapshot,
        servers,
        listeners,
        workers,
        needs_restart: Vec::new(),
        certificates: Arc::default(),
        leaving: false,
        state_failures: 0,
        sources: std::collections::BTreeMap::new(),
        drift: None,
    }
}

/// A control whose orders the test reads itself.
pub fn control(
    picture: Picture,
) -> (Control, tokio::sync::mpsc::Receiver<Order>, tokio::sync::watch::Sender<Arc<Picture>>) {
    Control::new(Arc::new(picture), Events::quiet())
}

/// Replaces one server's facts, in the table and in the snapshot.
pub fn change(picture: &mut Picture, name: &str, change: impl FnOnce(&mut ServerFacts)) {
    let id = picture.servers.values().find(|facts| facts.config.name == name).unwrap().id;
    let mut facts = ServerFacts::clone(&picture.servers[&id]);
    change(&mut facts);
    let mut snapshot = Snapshot::clone(&picture.snapshot);
    let pool = &snapshot.pools[&facts.pool];
    let servers = pool.servers.iter().map(|view| {
        let mut view = view.clone();
        if view.id == id {
            (view.state, view.address) = (facts.state, facts.resolved.address());
        }
        view
    });
    let (config, tls) = (Arc::clone(&pool.config), pool.tls.clone());
    let (live, servers) = (Arc::clone(&pool.live), servers.collect());
    let pool = PoolView { id: pool.id, config, tls, live, servers };
    snapshot.pools.insert(pool.id, Arc::new(pool));
    picture.snapshot = Arc::new(snapshot);
    picture.servers.insert(id, Arc::new(facts));
}

fn snapshot(
    config: &Config,
    workers: usize,
    servers: &mut HashMap<ServerId, Arc<ServerFacts>>,
    now: SystemTime,
) -> Snapshot {
    let mut snapshot = Snapshot { generation: 1, version: 1, ..Snapshot::default() };
    let mut ids = HashMap::new();
    for (name, pool) in &config.pools {
        let id = PoolId(ids.len() as u32);
        ids.insert(name.clone(), id);
        let mut views = Vec::new();
        for server in &pool.servers {
            let number = ServerId(servers.len() as u32);
            let facts = unjudged(number, (id, name), pool.initial, server, now);
            views.push(ServerView {
                id: facts.id,
                config: Arc::clone(server),
                address: facts.resolved.address(),
                state: facts.state,
                weight: server.weight,
                keeps: false,
                live: Arc::new(ServerLive::new(workers)),
            });
            servers.insert(facts.id, Arc::new(facts));
        }
        let live = Arc::new(PoolLive::new(workers));
        let config = Arc::clone(pool);
        let view = PoolView { id, config, tls: None, live, servers: views };
        snapshot.pools.insert(id, Arc::new(view));
    }
    for (at, service) in config.services.values().enumerate() {
        let id = ServiceId(at as u32);
        let view = ServiceView {
            id,
            config: Arc::clone(service),
            pool: ids[&service.pool],
            tls: None,
            live: Arc::new(ServiceLive::new(workers)),
            rules: None,
            affinity: None,
            users: crate::reconcile::kept::users(service, workers, None),
        };
        snapshot.services.insert(id, Arc::new(view));
    }
    snapshot
}

/// What is known of a server that nobody has judged.
fn unjudged(
    id: ServerId,
    pool: (PoolId, &str),
    initial: Initial,
    server: &Arc<Server>,
    now: SystemTime,
) -> ServerFacts {
    ServerFacts {
        id,
        pool: pool.0,
        pool_name: pool.1.to_owned(),
        config: Arc::clone(server),
        resolved: match server.address.host {
            Host::Ip(ip) => Resolved::At(SocketAddr::new(ip, server.address.port)),
            Host::Name(_) => Resolved::NotYet,
        },
        judged: Judged {
            health: Judgement::Unknown,
            reason: "no evidence yet".into(),
            since: now,
            evidence: false,
            note: None,
        },
        ejected: None,
        agent: None,
        hand: Hand::default(),
        clock: None,
        clock_keeps: None,
        keeps: None,
        state: match (server.admin, initial) {
            (Admin::Drain, _) => ServerState::Drain,
            (Admin::Disabled, _) => ServerState::Disabled,
            (_, Initial::Up) => ServerState::Up,
            (_, Initial::Unknown) => ServerState::Unknown,
            (_, Initial::Down) => ServerState::Down,
        },
        reason: "no evidence yet".into(),
        since: now,
        weight: server.weight,
        share: None,
    }
}
