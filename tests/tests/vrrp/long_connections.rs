//! 10,000 simultaneous connections of each method, through planned hand-overs, a killed daemon and a lost machine, with
//! a member that joins under load. Runs only with `STEELYARD_LONG=1`. `STEELYARD_CONNECTIONS` sets the number per
//! method and family; the default is 5,000.
//!
//! The clients and one of the servers run in this process, which needs 20,000 descriptors. The other server is an
//! nginx.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lab::net::NetworkNamespace;
use tests::e2e::balancer::is_long;
use tests::e2e::dir::TestDir;
use tests::e2e::process::{ChildProcess, descriptors_for};
use tests::e2e::{tools, wait};
use tests::skip::skip;

use super::replicated::{
    ClientSession, MAC, NAT, PORTS, ReplicatedPair, TUNNEL, begin, ends, flows, go_on, hand_over,
    join_under_load, open, replication, until_follows, wire,
};
use super::topology::{First, MemberIndex, Second, V4, V6, VrrpTopology};

/// The maximum age of connections that a crash may break.
const DELAY: Duration = Duration::from_millis(50);
/// The interval of new connections while a member crashes.
const PACE: Duration = Duration::from_millis(1);

fn many() -> usize {
    let text = std::env::var("STEELYARD_CONNECTIONS").ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(5_000)
}

#[test]
fn ten_thousand_connections_of_each_method_outlive_their_member() {
    if !is_long() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    descriptors_for(20_000);
    for (name, port) in [("mac", MAC), ("tunnel", TUNNEL), ("nat", NAT)] {
        outlive(name, port);
    }
}

fn outlive(name: &str, port: u16) {
    let mut pair = wire("");
    let _nginx = elsewhere(&mut pair);
    let world = &mut pair.world;
    begin(world, First, "active");
    let mut talks = open(world, &[port], many());
    println!("proof: {name}: {} connections, half of them of each family", talks.len());
    join(world, talks.len());
    hand_over(world);
    go_on(&mut talks, "a planned hand-over to a member that joined under load");
    let killed = |world: &mut VrrpTopology| world.kill9(Second);
    crash(world, (port, &mut talks), "the daemon is killed on a machine that lives", killed);
    join(world, talks.len());
    hand_over(world);
    go_on(&mut talks, "another one, to a member whose daemon was killed before");
    let gone = |world: &mut VrrpTopology| world.unplug_power(Second);
    crash(world, (port, &mut talks), "the machine is gone", gone);
    assert_eq!(replication(world, First).unwrap().unsent.len(), 0);
}

/// The second server runs as a separate process.
fn elsewhere(pair: &mut ReplicatedPair) -> (ChildProcess, TestDir) {
    pair.origins.clear();
    let dir = TestDir::new();
    let listen = PORTS.map(|port| format!("listen [::]:{port} ipv6only=off;")).concat();
    let at = dir.path().display();
    let body = "x".repeat(128);
    let file = dir.write(
        "nginx.conf",
        format!(
            "daemon off; master_process off; worker_processes 1; error_log stderr crit; pid {at}/pid;\n\
             events {{ worker_connections 19000; }}\n\
             http {{ access_log off; default_type text/plain; keepalive_timeout 1h; keepalive_requests 1000000;\n\
             client_body_temp_path {at}/b; proxy_temp_path {at}/p; fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u;\n\
             scgi_temp_path {at}/s;\n\
             server {{ {listen} add_header X-Origin server2 always; location / {{ return 200 \"{body}\"; }} }} }}\n"
        ),
    );
    let mut nginx = pair.server.command(tools::program("nginx"));
    nginx.arg("-p").arg(dir.path()).arg("-c").arg(file);
    (ChildProcess::start(nginx), dir)
}

/// The second member joins under load, and synchronises all connections.
fn join(world: &mut VrrpTopology, all: usize) {
    let begun = Instant::now();
    join_under_load(world);
    wait::until("the other member has every connection", || flows(world, Second) >= all);
    let took = begun.elapsed().as_secs_f64();
    println!("proof: a member that joins under load has them all {took:.1} s after it began");
}

/// The active second member is lost while connections are opened.
fn crash(
    world: &mut VrrpTopology,
    (port, talks): (u16, &mut [ClientSession]),
    what: &str,
    lose: impl FnOnce(&mut VrrpTopology),
) {
    until_follows(world);
    let young = ShortConnections::open(&world.client, port);
    wait::linger(Duration::from_secs(1));
    let at = Instant::now();
    lose(world);
    until_active(world, First);
    let mut young = young.end();
    go_on(talks, what);
    young.retain(|(began, _)| *began <= at);
    let all = young.len();
    let broken = young.iter_mut().filter_map(|(began, talk)| {
        talk.asks().is_none().then_some(at.saturating_duration_since(*began))
    });
    let broken = Vec::from_iter(broken);
    let oldest = broken.iter().max().copied().unwrap_or_default();
    println!(
        "proof: {what}: {} broken of {all} that began in the second before; {} ms old at most",
        broken.len(),
        oldest.as_millis(),
    );
    assert!(oldest <= DELAY, "{what}: {broken:?}");
}

fn until_active(world: &VrrpTopology, who: MemberIndex) {
    for version in [V4, V6] {
        world.until(who, version, "active");
    }
}

/// Opens connections one after the other until it is dropped.
struct ShortConnections {
    end: Sender<()>,
    thread: JoinHandle<Vec<(Instant, ClientSession)>>,
}

impl ShortConnections {
    fn open(client: &Arc<NetworkNamespace>, port: u16) -> ShortConnections {
        let (end, ended) = channel();
        let client = Arc::clone(client);
        let begun = move || client.run_inside(move || begin_until(ended, port)).unwrap();
        ShortConnections { end, thread: std::thread::spawn(begun) }
    }

    fn end(self) -> Vec<(Instant, ClientSession)> {
        drop(self.end);
        self.thread.join().unwrap()
    }
}

fn begin_until(ended: Receiver<()>, port: u16) -> Vec<(Instant, ClientSession)> {
    let mut talks = Vec::new();
    let mut ends = ends(&[port]).into_iter().cycle();
    while ended.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
        let began = Instant::now();
        let talk = ends.next().and_then(ClientSession::connect);
        talks.extend(talk.map(|talk| (began, talk)));
    }
    talks
}
