//! The data plane alone, without the daemon: forwards one address to some servers.
//!
//! `cargo run --release -p l7 --example forward -- http 127.0.0.1:8080 127.0.0.1:9001 127.0.0.1:9002`. There are no
//! health checks and no configuration reload.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use l7::{AccessLogOptions, PlaneObservation, PlaneObserver, PlaneOptions, RequestPlane};
use model::config::{AccessLogFormat, Config, PoolConfig, ServerConfig};
use model::id::{ListenerId, PoolId, ServerId, ServiceId};
use model::rules::ServiceRules;
use model::snapshot::{PoolView, ServerState, ServerView, ServiceView, WorkerSnapshot};
use model::stats::{ServerStats, ServiceStats};

struct QuietObserver;

impl PlaneObserver for QuietObserver {
    fn observe(&self, _: PlaneObservation) {}

    fn log(&self, _: Vec<u8>) -> bool {
        true
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [forward, listen, servers @ ..] = &words[..] else {
        return Err("usage: forward http|tcp LISTEN SERVER...".into());
    };
    let text = format!(
        "[service.all]\nlisten = {listen:?}\nforward = {forward:?}\npool = \"all\"\n[pool.all]\nservers = {servers:?}\n"
    );
    let config = model::config::load(&text, "the command line")?.config;
    let listen: SocketAddr = listen.parse()?;
    let options = PlaneOptions {
        workers: 1,
        pin: false,
        connections: 100_000,
        access: AccessLogOptions {
            all: false,
            sample: None,
            format: AccessLogFormat::Json,
            fields: Vec::new(),
            enabled: false,
        },
        traces: false,
        // `SAMPLE=off`, or one exchange in this many, to determine the cost of the measurements.
        sample: std::env::var("SAMPLE").map_or(Some(64), |text| text.parse().ok()),
        node: "steelyard".into(),
        utc_offset: |_| 0,
    };
    let socket = l7::socket::listener(listen, &config.services["all"].socket)?;
    let plane = RequestPlane::start(options, Arc::new(QuietObserver))?;
    plane.install(Arc::new(snapshot(&config)));
    plane.listen(ListenerId(0), ServiceId(0), vec![std::sync::Arc::new(socket)]);
    loop {
        std::thread::park();
    }
}

fn snapshot(config: &Config) -> WorkerSnapshot {
    let of_all = |name: &str| (name == "all").then_some(PoolId(0));
    let ruling = ServiceRules::new(&config.services["all"], of_all, 1, None);
    let service = ServiceView {
        id: ServiceId(0),
        config: config.services["all"].clone(),
        pool: PoolId(0),
        tls: None,
        error_pages: None,
        file_networks: None,
        stats: Arc::new(ServiceStats::new(1)),
        rules: ruling.map(Arc::new),
        edits: None,
        affinity: None,
        slo: None,
    };
    WorkerSnapshot {
        generation: 1,
        version: 1,
        services: [(ServiceId(0), Arc::new(service))].into(),
        pools: [(PoolId(0), Arc::new(pool(&config.pools["all"])))].into(),
        acme_proofs: None,
        cookie_secrets: Default::default(),
        auth: None,
        auth_pools: Default::default(),
    }
}

fn pool(config: &Arc<PoolConfig>) -> PoolView {
    let servers =
        config.servers.iter().enumerate().map(|(at, config)| server(at, config)).collect();
    let live = Arc::new(model::stats::pool::PoolStats::new(1));
    PoolView { id: PoolId(0), config: config.clone(), tls: None, stats: live, servers }
}

fn server(at: usize, config: &Arc<ServerConfig>) -> ServerView {
    ServerView {
        id: ServerId(at as u32),
        config: config.clone(),
        address: config.address.endpoint(),
        state: ServerState::Up,
        weight: config.weight,
        keeps_sticky_clients: false,
        stats: Arc::new(ServerStats::new(1)),
    }
}
