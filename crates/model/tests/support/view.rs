//! Pools built in one line, for tests and examples.
//!
//! Not a test target: included by path.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use model::config::{
    AdminState, AllDownPolicy, BalancePolicy, HashKey, InitialState, PoolConfig, PoolLimits,
    PoolTimeouts, Priority, ServerAddress, ServerConfig, ServerHost, ServerWeight, SocketOptions,
};
use model::id::{PoolId, ServerId};
use model::snapshot::{PoolView, ServerState, ServerView};
use model::stats::ServerStats;
use model::stats::pool::PoolStats;

/// A pool of servers `s0`, `s1`, … with these weights (above 256: 1), all up.
pub fn pool(balance: BalancePolicy, weights: &[u16]) -> PoolView {
    let servers: Vec<ServerView> = weights.iter().enumerate().map(server).collect();
    let live = Arc::new(PoolStats::new(1));
    PoolView {
        id: PoolId(0),
        config: Arc::new(config(balance, &servers)),
        tls: None,
        stats: live,
        servers,
    }
}

/// The same pool without the server at this index.
#[allow(dead_code, reason = "not every includer removes servers")]
pub fn without(view: &PoolView, index: usize) -> PoolView {
    let mut servers = view.servers.clone();
    servers.remove(index);
    let config = view.config.clone();
    let live = view.stats.clone();
    PoolView { id: view.id, config, tls: None, stats: live, servers }
}

fn server((at, weight): (usize, &u16)) -> ServerView {
    let ip = IpAddr::from([10, (at >> 16) as u8, (at >> 8) as u8, at as u8]);
    let weight = ServerWeight::new(*weight).unwrap_or(ServerWeight::ONE);
    ServerView {
        id: ServerId(at as u32),
        config: Arc::new(ServerConfig {
            name: format!("s{at}"),
            cookie_value: None,
            address: ServerAddress { host: ServerHost::Ip(ip), port: 80 },
            weight,
            admin: AdminState::Enabled,
            schedule: Vec::new(),
            probe: None,
            connections: None,
            priority: Priority::FIRST,
            locality: None,
        }),
        address: Some(SocketAddr::new(ip, 80).into()),
        state: ServerState::Up,
        weight,
        keeps_sticky_clients: false,
        stats: Arc::new(ServerStats::new(1)),
    }
}

fn config(balance: BalancePolicy, servers: &[ServerView]) -> PoolConfig {
    let span = Duration::from_secs(1);
    PoolConfig {
        agent: None,
        name: "web".to_owned(),
        balance,
        initial: InitialState::Up,
        all_down: AllDownPolicy::Refuse,
        probe: None,
        discovery: None,
        servers: servers.iter().map(|server| server.config.clone()).collect(),
        timeout: PoolTimeouts {
            stream: span,
            connect: span,
            first_byte: span,
            attempts: span,
            between_bytes: span,
            queue: span,
            idle: span,
        },
        limit: PoolLimits { idle: 1, queue: 1, header_bytes: 32_768, header_count: 100 },
        source: Vec::new(),
        source_client: false,
        socket: SocketOptions::default(),
        retries: 2,
        retry: model::config::RetryConfig::default(),
        eject: None,
        breaker: Default::default(),
        shed: None,
        hedge: None,
        tls: None,
        http2: model::config::ServerHttp2::default(),
        send_proxy: None,
        lenient_answers: Default::default(),
        hash_on: HashKey::Address,
        judge: None,
        slow_start: None,
        spill_over: None,
        locality: None,
    }
}
