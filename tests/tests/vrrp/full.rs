//! A pair with full tables: the cost without changes, the synchronisation of a joining member, and the delay of new
//! connections after a failover. The results are printed. Only with `STEELYARD_LONG=1`.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tests::e2e::balancer::is_long;
use tests::e2e::wait;
use tests::skip::skip;

use super::clients::{RawClients, hush};
use super::lag::{ReplicationLoad, SHORT};
use super::replicated::{ClientSession, MAC, begin, flows, replication, until_follows, wire};
use super::topology::{First, MemberIndex, Second, V4, V6, VrrpTopology};

/// The number of the first permanent connection.
const FIRST: u32 = 12_000_000;
/// The steps of short connections.
const STEPS: u32 = 15_000;

fn many() -> u32 {
    let text = std::env::var("STEELYARD_FLOWS").ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(1_000_000)
}

#[test]
fn a_full_table_is_reported_and_what_is_new_first() {
    if !is_long() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    let mut pair = wire(SHORT);
    let world = &mut pair.world;
    begin(world, First, "active");
    let to = SocketAddr::new(V4.shared(), MAC);
    let mut talk = wait::until_some("a connection", || ClientSession::open(&world.client, to));
    hush([&world.server, &pair.server]);
    RawClients::new(world, V4, MAC).open(FIRST..FIRST + many());
    let most = many() as usize * 99 / 100;
    wait::until("the table is full", || flows(world, First) >= most);
    println!("proof: {} connections", flows(world, First));
    let quiet = worst(&mut talk, || true);
    let before = own(world, First);
    let begun = Instant::now();
    begin(world, Second, "standby");
    let ready = begun.elapsed();
    let mut most_of = [before, own(world, Second)];
    let busy = worst(&mut talk, || {
        let members = [First, Second];
        for (most, who) in most_of.iter_mut().zip(members) {
            *most = most.max(own(world, who));
        }
        members.into_iter().all(|who| follows(world, who))
    });
    until_follows(world);
    let counts = replication(world, First).unwrap().counts;
    println!(
        "proof: a member joins: {:.1} s after it began, {:.1} s of that until it stands by; {} records, {} told again; an \
         exchange takes {} before and {} meanwhile; memory besides the tables {before:.1} MiB before, {:.1} MiB at most \
         meanwhile, and {:.1} MiB at most of the one that joins",
        begun.elapsed().as_secs_f64(),
        ready.as_secs_f64(),
        counts["sent"],
        counts["resynchronised"],
        shown(&quiet),
        shown(&busy),
        most_of[0],
        most_of[1],
    );
    wait::until("the other member counts them, too", || flows(world, Second) >= most);
    still(world, First);
    moved(world);
    still(world, Second);
}

/// The cost of replication when no connection changes.
fn still(world: &VrrpTopology, who: MemberIndex) {
    let before = ReplicationLoad::of(world, who);
    wait::linger(Duration::from_secs(5));
    let spent = ReplicationLoad::of(world, who).since(&before);
    println!(
        "proof: nothing changes, {} records/s told anew: of a core {:.1} % for telling, {:.1} % for entering",
        (spent.counts["sent"] as f64 / spent.seconds) as u64,
        spent.share(0),
        spent.share(1),
    );
}

/// The address moves under load. Measures how late the new active member sends new connections.
fn moved(world: &mut VrrpTopology) {
    let clients = RawClients::new(world, V4, MAC);
    let load = std::thread::spawn(move || clients.run(STEPS));
    wait::linger(Duration::from_secs(2));
    let before = ReplicationLoad::of(world, Second);
    let said = world.verb(Second, &["takeover", V4.group()]);
    assert_eq!(said.code, 0, "{said:?}");
    world.until(Second, V4, "active");
    assert!(world.status(First, V6).is_some_and(|one| one.state == "active"));
    let late = load.join().unwrap();
    let spent = ReplicationLoad::of(world, Second).since(&before);
    println!(
        "proof: the address moves at 20,000 connections/s ({late} of {STEPS} steps late): {} records in {:.1} s, {}; of a \
         core {:.1} % for telling, {:.1} % for entering",
        spent.counts["sent"],
        spent.seconds,
        spent.promptness(),
        spent.share(0),
        spent.share(1),
    );
}

fn follows(world: &VrrpTopology, who: MemberIndex) -> bool {
    replication(world, who).is_some_and(|one| one.state == "following")
}

/// The durations of exchanges until `done`, for at least three seconds.
fn worst(talk: &mut ClientSession, mut done: impl FnMut() -> bool) -> Vec<Duration> {
    let begun = Instant::now();
    let mut took = Vec::new();
    let mut over = false;
    while !over || begun.elapsed() < Duration::from_secs(3) {
        let at = Instant::now();
        assert!(talk.asks().is_some(), "the connection goes on");
        took.push(at.elapsed());
        if took.len().is_multiple_of(100) {
            over = over
                || begun.elapsed() > Duration::from_secs(3) && done()
                || begun.elapsed() > wait::DEADLINE;
        }
    }
    took.sort_unstable();
    took
}

fn shown(took: &[Duration]) -> String {
    let at = |share: usize| took[(took.len() - 1) * share / 1_000].as_micros();
    format!("{} us (p99.9 {} us)", at(500), at(999))
}

/// The private memory of a member's process in MiB, without the kernel's tables.
fn own(world: &VrrpTopology, who: MemberIndex) -> f64 {
    let pid = world.whole_status(who).unwrap().pid;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}
