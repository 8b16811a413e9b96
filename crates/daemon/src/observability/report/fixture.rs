//! State snapshots for tests, from a configuration's text. Nothing listens and nothing is probed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use model::config::{AdminState, Config, InitialState, ServerConfig};
use model::id::{ListenerId, PoolId, ServerId, ServiceId};
use model::snapshot::{PoolView, ServerState, ServerView, ServiceView, WorkerSnapshot};
use model::stats::pool::PoolStats;
use model::stats::{ServerStats, ServiceStats};

use crate::state::handle::ControlChannels;
use crate::state::{
    ChangeOrigin, ChangeTrigger, HealthState, HealthStatus, ListenerFacts, OperatorOverrides,
    ResolvedAddress, ServerFacts, StateSnapshot,
};
use crate::util::event::EventLog;

/// A service with one server.
pub const SHOP: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"
[pool.web]
servers = ["127.0.0.1:1001"]
"#;

/// A snapshot of generation 1; ids are given in the order of names.
pub fn state_snapshot(text: &str, workers: usize) -> StateSnapshot {
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
    StateSnapshot {
        generation: 1,
        since: now,
        started: now,
        digest: "0".into(),
        origin: ChangeOrigin::new("test", ChangeTrigger::Start),
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
        shutting_down: false,
        state_failures: 0,
        sources: std::collections::BTreeMap::new(),
        drift: None,
        unsaved: Vec::new(),
    }
}

/// A control whose orders the test reads itself.
pub fn control(snapshot: StateSnapshot) -> ControlChannels {
    ControlChannels::new(Arc::new(snapshot), EventLog::quiet())
}

/// Replaces one server's facts, in the table and in the snapshot.
pub fn change(
    state_snapshot: &mut StateSnapshot,
    name: &str,
    change: impl FnOnce(&mut ServerFacts),
) {
    let id = state_snapshot.servers.values().find(|facts| facts.config.name == name).unwrap().id;
    let mut facts = ServerFacts::clone(&state_snapshot.servers[&id]);
    change(&mut facts);
    let mut snapshot = WorkerSnapshot::clone(&state_snapshot.snapshot);
    let pool = &snapshot.pools[&facts.pool];
    let servers = pool.servers.iter().map(|view| {
        let mut view = view.clone();
        if view.id == id {
            view.state = facts.state;
            view.address = facts.resolved.endpoint().cloned();
        }
        view
    });
    let config = Arc::clone(&pool.config);
    let tls = pool.tls.clone();
    let live = Arc::clone(&pool.stats);
    let servers = servers.collect();
    let pool = PoolView { id: pool.id, config, tls, stats: live, servers };
    snapshot.pools.insert(pool.id, Arc::new(pool));
    state_snapshot.snapshot = Arc::new(snapshot);
    state_snapshot.servers.insert(id, Arc::new(facts));
}

fn snapshot(
    config: &Config,
    workers: usize,
    servers: &mut HashMap<ServerId, Arc<ServerFacts>>,
    now: SystemTime,
) -> WorkerSnapshot {
    let mut snapshot = WorkerSnapshot { generation: 1, version: 1, ..WorkerSnapshot::default() };
    let mut ids = HashMap::new();
    for (name, pool) in &config.pools {
        let id = PoolId(ids.len() as u32);
        ids.insert(name.clone(), id);
        let mut views = Vec::new();
        for server in &pool.servers {
            let number = ServerId(servers.len() as u32);
            let facts = unjudged(number, id, name, pool.initial, server, now);
            views.push(ServerView {
                id: facts.id,
                config: Arc::clone(server),
                address: facts.resolved.endpoint().cloned(),
                state: facts.state,
                weight: server.weight,
                keeps_sticky_clients: false,
                stats: Arc::new(ServerStats::new(workers)),
            });
            servers.insert(facts.id, Arc::new(facts));
        }
        let live = Arc::new(PoolStats::new(workers));
        let config = Arc::clone(pool);
        let view = PoolView { id, config, tls: None, stats: live, servers: views };
        snapshot.pools.insert(id, Arc::new(view));
    }
    for (at, service) in config.services.values().enumerate() {
        let id = ServiceId(at as u32);
        let view = ServiceView {
            id,
            config: Arc::clone(service),
            pool: ids[&service.pool],
            tls: None,
            error_pages: None,
            file_networks: None,
            stats: Arc::new(ServiceStats::new(workers)),
            rules: None,
            edits: None,
            affinity: None,
            slo: crate::control::reconcile::preserved::preserve_slo_table(service, workers, None),
        };
        snapshot.services.insert(id, Arc::new(view));
    }
    snapshot
}

/// The state of a server without a health verdict.
fn unjudged(
    id: ServerId,
    pool: PoolId,
    pool_name: &str,
    initial: InitialState,
    server: &Arc<ServerConfig>,
    now: SystemTime,
) -> ServerFacts {
    ServerFacts {
        id,
        pool,
        pool_name: pool_name.to_owned(),
        config: Arc::clone(server),
        resolved: server
            .address
            .endpoint()
            .map_or(ResolvedAddress::Pending, ResolvedAddress::Known),
        health_status: HealthStatus {
            health: HealthState::Unknown,
            reason: "no evidence yet".into(),
            since: now,
            evidence: false,
            note: None,
        },
        ejection: None,
        agent: None,
        overrides: OperatorOverrides::default(),
        scheduled: None,
        scheduled_affinity_until: None,
        affinity_until: None,
        state: match (server.admin, initial) {
            (AdminState::Drain, _) => ServerState::Drain,
            (AdminState::Disabled, _) => ServerState::Disabled,
            (_, InitialState::Up) => ServerState::Up,
            (_, InitialState::Unknown) => ServerState::Unknown,
            (_, InitialState::Down) => ServerState::Down,
        },
        reason: "no evidence yet".into(),
        since: now,
        weight: server.weight,
        share: None,
    }
}
