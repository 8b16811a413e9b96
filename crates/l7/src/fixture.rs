//! Views for tests: one `http` service over one pool of the given servers, everything at its default.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use model::config::{
    Admin, AllDown, Balance, Buffer, ClientHttp2, ClientHttp3, Fanout, Forward, Forwarded, HashOn,
    Host, Initial, Limits, PathCase, PathNormalization, Pool, PoolLimits, PoolTimeouts, Precedence,
    Priority, Reserved, Retry, Server, ServerAddress, ServerHttp2, Service, ServiceTimeouts,
    SocketOptions, Weight,
};
use model::id::{PoolId, ServerId, ServiceId};
use model::live::pool::PoolLive;
use model::live::{ServerLive, ServiceLive};
use model::snapshot::{PoolView, ServerState, ServerView, ServiceView, Snapshot};

/// The snapshot, for one worker.
pub fn snapshot(servers: &[SocketAddr]) -> Snapshot {
    let servers: Vec<_> =
        servers.iter().enumerate().map(|(at, address)| server(at, *address)).collect();
    let service = ServiceView {
        id: ServiceId(0),
        config: Arc::new(service()),
        pool: PoolId(0),
        tls: None,
        live: Arc::new(ServiceLive::new(1)),
        rules: None,
        affinity: None,
        users: None,
    };
    let pool = PoolView {
        id: PoolId(0),
        config: Arc::new(pool(&servers)),
        tls: None,
        live: Arc::new(PoolLive::new(1)),
        servers,
    };
    Snapshot {
        generation: 1,
        version: 1,
        services: [(ServiceId(0), Arc::new(service))].into(),
        pools: [(PoolId(0), Arc::new(pool))].into(),
        proofs: None,
        cookie_secrets: Default::default(),
    }
}

fn pool(servers: &[ServerView]) -> Pool {
    Pool {
        agent: None,
        name: "pool".into(),
        balance: Balance::LeastRequest,
        initial: Initial::Up,
        all_down: AllDown::Refuse,
        probe: None,
        discovery: None,
        servers: servers.iter().map(|view| view.config.clone()).collect(),
        timeout: PoolTimeouts {
            connect: Duration::from_secs(3),
            first_byte: Duration::from_secs(20),
            stream: Duration::from_secs(3_600),
            attempts: Duration::from_secs(40),
            between_bytes: Duration::from_secs(10),
            queue: Duration::from_secs(1),
            idle: Duration::from_secs(60),
        },
        limit: PoolLimits { idle: 256, queue: 1024, header_bytes: 32 << 10, header_count: 100 },
        source: Vec::new(),
        source_client: false,
        socket: SocketOptions::default(),
        retries: 2,
        retry: Retry::default(),
        eject: None,
        breaker: Default::default(),
        shed: None,
        hedge: None,
        tls: None,
        http2: ServerHttp2::default(),
        send_proxy: None,
        lenient_answers: Default::default(),
        hash_on: HashOn::Address,
        judge: None,
        slow_start: None,
        spill_over: None,
        locality: None,
    }
}

fn server(at: usize, address: SocketAddr) -> ServerView {
    let config = Server {
        name: format!("s{at}"),
        address: ServerAddress { host: Host::Ip(address.ip()), port: address.port() },
        weight: Weight::ONE,
        admin: Admin::Enabled,
        schedule: Vec::new(),
        probe: None,
        connections: None,
        priority: Priority::FIRST,
        locality: None,
    };
    ServerView {
        id: ServerId(at as u32),
        config: Arc::new(config),
        address: Some(address),
        state: ServerState::Up,
        weight: Weight::ONE,
        keeps: false,
        live: Arc::new(ServerLive::new(1)),
    }
}

fn service() -> Service {
    Service {
        name: "service".into(),
        listen: vec![SocketAddr::from(([192, 0, 2, 80], 80))],
        forward: Forward::Http,
        packets: None,
        pool: "pool".into(),
        timeout: ServiceTimeouts {
            header: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            between_bytes: Duration::from_secs(10),
            whole: None,
            drain: Duration::from_secs(30),
            tunnel: Duration::from_secs(100),
        },
        limit: Limits {
            connections: None,
            connections_per_client: None,
            header_bytes: 32 << 10,
            header_count: 100,
            target_bytes: 8 << 10,
            connection_bytes: 64 << 10,
        },
        socket: SocketOptions::default(),
        trust: Default::default(),
        forwarded: Forwarded { x_forwarded: Fanout::Append, forwarded: Fanout::Keep, via: true },
        tls: None,
        rules: Vec::new(),
        path_normalization: PathNormalization::default(),
        path_case: PathCase::default(),
        sticky: None,
        http2: ClientHttp2::default(),
        http3: ClientHttp3::default(),
        accept_proxy: None,
        buffer: Buffer::default(),
        compress: None,
        priority: Precedence { class: 5, header: None },
        objective: None,
        reserved: Reserved::default(),
    }
}
