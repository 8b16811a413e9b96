//! The request plane alone, without daemon: forwards one address to some servers.
//!
//! `cargo run --release -p l7 --example forward -- http 127.0.0.1:8080 127.0.0.1:9001 127.0.0.1:9002`. It judges no
//! server and reloads nothing.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use l7::{Access, Observation, Outside, Plane, PlaneOptions};
use model::config::{AccessFormat, Config, Host, Pool, Server};
use model::id::{ListenerId, PoolId, ServerId, ServiceId};
use model::live::{ServerLive, ServiceLive};
use model::rules::Ruling;
use model::snapshot::{PoolView, ServerState, ServerView, ServiceView, Snapshot};

struct Quiet;

impl Outside for Quiet {
    fn observe(&self, _: Observation) {}

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
        access: Access { all: false, format: AccessFormat::Json, enabled: false },
        traces: false,
        // So that the cost of measuring can be measured: `off`, or one in so many.
        sample: std::env::var("SAMPLE").map_or(Some(64), |text| text.parse().ok()),
        node: "steelyard".into(),
        utc_offset: |_| 0,
    };
    let socket = l7::socket::listener(listen, &config.services["all"].socket)?;
    let plane = Plane::start(options, Arc::new(Quiet))?;
    plane.install(Arc::new(snapshot(&config)));
    plane.listen(ListenerId(0), ServiceId(0), vec![socket]);
    loop {
        std::thread::park();
    }
}

fn snapshot(config: &Config) -> Snapshot {
    let of_all = |name: &str| (name == "all").then_some(PoolId(0));
    let ruling = Ruling::new(&config.services["all"], of_all, 1, None);
    let service = ServiceView {
        id: ServiceId(0),
        config: config.services["all"].clone(),
        pool: PoolId(0),
        tls: None,
        live: Arc::new(ServiceLive::new(1)),
        rules: ruling.map(Arc::new),
        affinity: None,
        users: None,
    };
    Snapshot {
        generation: 1,
        version: 1,
        services: [(ServiceId(0), Arc::new(service))].into(),
        pools: [(PoolId(0), Arc::new(pool(&config.pools["all"])))].into(),
        proofs: None,
        cookie_secrets: Default::default(),
    }
}

fn pool(config: &Arc<Pool>) -> PoolView {
    let servers =
        config.servers.iter().enumerate().map(|(at, config)| server(at, config)).collect();
    let live = Arc::new(model::live::pool::PoolLive::new(1));
    PoolView { id: PoolId(0), config: config.clone(), tls: None, live, servers }
}

fn server(at: usize, config: &Arc<Server>) -> ServerView {
    let address = match config.address.host {
        Host::Ip(ip) => Some(SocketAddr::new(ip, config.address.port)),
        Host::Name(_) => None,
    };
    ServerView {
        id: ServerId(at as u32),
        config: config.clone(),
        address,
        state: ServerState::Up,
        weight: config.weight,
        keeps: false,
        live: Arc::new(ServerLive::new(1)),
    }
}
