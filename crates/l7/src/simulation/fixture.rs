//! Views for tests: one `http` service over one pool of the given servers, with default settings.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use model::config::{
    AdminState, AllDownPolicy, BalancePolicy, BodyLimit, BufferConfig, ClientHttp2, ClientHttp3,
    FieldNamePolicy, ForwardedHeaderAction, ForwardedHeaders, ForwardingMode, HashKey,
    InitialState, PathCase, PathNormalization, PoolConfig, PoolLimits, PoolTimeouts, Priority,
    RequestPriority, ReservedFields, RetryConfig, ServerAddress, ServerConfig, ServerHost,
    ServerHttp2, ServerWeight, ServiceConfig, ServiceLimits, ServiceTimeouts, SocketOptions,
};
use model::id::{PoolId, ServerId, ServiceId};
use model::snapshot::{PoolView, ServerState, ServerView, ServiceView, WorkerSnapshot};
use model::stats::pool::PoolStats;
use model::stats::{ServerStats, ServiceStats};

/// The snapshot, for one worker.
pub fn snapshot(servers: &[SocketAddr]) -> WorkerSnapshot {
    let servers: Vec<_> =
        servers.iter().enumerate().map(|(at, address)| server(at, *address)).collect();
    let service = ServiceView {
        id: ServiceId(0),
        config: Arc::new(service()),
        pool: PoolId(0),
        tls: None,
        error_pages: None,
        file_networks: None,
        stats: Arc::new(ServiceStats::new(1)),
        rules: None,
        edits: None,
        affinity: None,
        slo: None,
    };
    let pool = PoolView {
        id: PoolId(0),
        config: Arc::new(pool(&servers)),
        tls: None,
        stats: Arc::new(PoolStats::new(1)),
        servers,
    };
    WorkerSnapshot {
        generation: 1,
        version: 1,
        services: [(ServiceId(0), Arc::new(service))].into(),
        pools: [(PoolId(0), Arc::new(pool))].into(),
        acme_proofs: None,
        cookie_secrets: Default::default(),
        auth: None,
        auth_pools: Default::default(),
    }
}

fn pool(servers: &[ServerView]) -> PoolConfig {
    PoolConfig {
        agent: None,
        name: "pool".into(),
        balance: BalancePolicy::LeastRequest,
        initial: InitialState::Up,
        all_down: AllDownPolicy::Refuse,
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
        retry: RetryConfig::default(),
        eject: None,
        breaker: Default::default(),
        shed: None,
        hedge: None,
        tls: None,
        http2: ServerHttp2::default(),
        send_proxy: None,
        lenient_answers: Default::default(),
        hash_on: HashKey::Address,
        judge: None,
        slow_start: None,
        spill_over: None,
        locality: None,
    }
}

fn server(at: usize, address: SocketAddr) -> ServerView {
    let config = ServerConfig {
        name: format!("s{at}"),
        cookie_value: None,
        address: ServerAddress { host: ServerHost::Ip(address.ip()), port: address.port() },
        weight: ServerWeight::ONE,
        admin: AdminState::Enabled,
        schedule: Vec::new(),
        probe: None,
        connections: None,
        priority: Priority::FIRST,
        locality: None,
    };
    ServerView {
        id: ServerId(at as u32),
        config: Arc::new(config),
        address: Some(address.into()),
        state: ServerState::Up,
        weight: ServerWeight::ONE,
        keeps_sticky_clients: false,
        stats: Arc::new(ServerStats::new(1)),
    }
}

fn service() -> ServiceConfig {
    ServiceConfig {
        name: "service".into(),
        listen: vec![SocketAddr::from(([192, 0, 2, 80], 80))],
        forward: ForwardingMode::Http,
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
        limit: ServiceLimits {
            connections: None,
            connections_per_client: None,
            header_bytes: 32 << 10,
            header_count: 100,
            target_bytes: 8 << 10,
            body_bytes: BodyLimit::default(),
            connection_bytes: 64 << 10,
        },
        socket: SocketOptions::default(),
        trust: Default::default(),
        client_from: None,
        request_id: None,
        forwarded: ForwardedHeaders {
            x_forwarded: ForwardedHeaderAction::Append,
            forwarded: ForwardedHeaderAction::Keep,
            via: true,
            client_field: None,
        },
        tls: None,
        rules: Vec::new(),
        edits: Vec::new(),
        path_normalization: PathNormalization::default(),
        path_case: PathCase::default(),
        field_names: FieldNamePolicy::default(),
        sticky: None,
        http2: ClientHttp2::default(),
        http3: ClientHttp3::default(),
        accept_proxy: None,
        buffer: BufferConfig::default(),
        compress: None,
        error_pages: Vec::new(),
        priority: RequestPriority { class: 5, header: None },
        objective: None,
        auth: None,
        auth_plan: Default::default(),
        reserved: ReservedFields::default(),
    }
}
