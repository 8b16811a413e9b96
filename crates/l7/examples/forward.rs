//! The request plane alone, without daemon or configuration: forwards one address to some servers.
//!
//! `cargo run --release -p l7 --example forward -- http 127.0.0.1:8080 127.0.0.1:9001 127.0.0.1:9002`. It judges no
//! server and reloads nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use l7::{Access, Observation, Outside, Plane, PlaneOptions};
use model::config::{
    AccessFormat, Admin, AllDown, Balance, Fanout, Forward, Forwarded, Host, Initial, Limits, Pool,
    PoolLimits, PoolTimeouts, Server, ServerAddress, Service, ServiceTimeouts, SocketOptions,
    Weight,
};
use model::id::{ListenerId, PoolId, ServerId, ServiceId};
use model::live::{ServerLive, ServiceLive};
use model::snapshot::{PoolView, ServerState, ServerView, ServiceView, Snapshot};

struct Quiet;

impl Outside for Quiet {
    fn observe(&self, _: Observation) {}

    fn log(&self, _: Vec<u8>) -> bool {
        true
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let forward = match words.next().as_deref() {
        Some("http") => Forward::Http,
        Some("tcp") => Forward::Tcp,
        _ => return Err("usage: forward http|tcp LISTEN SERVER...".into()),
    };
    let listen: SocketAddr = words.next().ok_or("where to listen?")?.parse()?;
    let servers = words.map(|server| server.parse()).collect::<Result<Vec<SocketAddr>, _>>()?;
    let service = service(listen, forward);
    let socket = l7::socket::listener(listen, &service.socket)?;
    let plane = Plane::start(
        PlaneOptions {
            workers: 1,
            pin: false,
            connections: 100_000,
            access: Access { all: false, format: AccessFormat::Json, enabled: false },
            node: "steelyard".into(),
        },
        Arc::new(Quiet),
    )?;
    plane.install(Arc::new(snapshot(service, &servers)));
    plane.listen(ListenerId(0), ServiceId(0), vec![socket]);
    loop {
        std::thread::park();
    }
}

fn snapshot(service: Service, servers: &[SocketAddr]) -> Snapshot {
    let servers =
        servers.iter().enumerate().map(|(i, address)| server(i, *address)).collect::<Vec<_>>();
    let pool = Pool {
        name: "pool".into(),
        balance: Balance::LeastRequest,
        initial: Initial::Up,
        all_down: AllDown::Refuse,
        probe: None,
        servers: servers.iter().map(|view| view.config.clone()).collect(),
        timeout: PoolTimeouts {
            connect: Duration::from_secs(3),
            first_byte: Duration::from_secs(60),
            between_bytes: Duration::from_secs(30),
            queue: Duration::from_secs(1),
            idle: Duration::from_secs(60),
        },
        limit: PoolLimits { idle: 256, queue: 1024, header_bytes: 32 << 10, header_count: 100 },
        source: Vec::new(),
        socket: SocketOptions::default(),
        retries: 2,
    };
    let service = ServiceView {
        id: ServiceId(0),
        config: Arc::new(service),
        pool: PoolId(0),
        live: Arc::new(ServiceLive::new(1)),
    };
    let pool = PoolView { id: PoolId(0), config: Arc::new(pool), servers };
    Snapshot {
        generation: 1,
        version: 1,
        services: [(ServiceId(0), Arc::new(service))].into(),
        pools: [(PoolId(0), Arc::new(pool))].into(),
    }
}

fn server(i: usize, address: SocketAddr) -> ServerView {
    let config = Server {
        name: format!("s{i}"),
        address: ServerAddress { host: Host::Ip(address.ip()), port: address.port() },
        weight: Weight::ONE,
        admin: Admin::Enabled,
        probe: None,
        connections: None,
    };
    ServerView {
        id: ServerId(i as u32),
        config: Arc::new(config),
        address: Some(address),
        state: ServerState::Up,
        weight: Weight::ONE,
        live: Arc::new(ServerLive::new(1)),
    }
}

fn service(listen: SocketAddr, forward: Forward) -> Service {
    Service {
        name: "service".into(),
        listen: vec![listen],
        forward,
        pool: "pool".into(),
        timeout: ServiceTimeouts {
            header: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            between_bytes: Duration::from_secs(30),
            whole: None,
            drain: Duration::from_secs(30),
            tunnel: Duration::from_secs(3600),
        },
        limit: Limits {
            connections: None,
            header_bytes: 32 << 10,
            header_count: 100,
            target_bytes: 8 << 10,
            connection_bytes: 64 << 10,
        },
        socket: SocketOptions::default(),
        forwarded: Forwarded { x_forwarded: Fanout::Append, forwarded: Fanout::Keep, via: true },
    }
}
