//! Connections use uplinks by weight and priority, and stay on them.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use lab::net::NetworkNamespace;
use tests::e2e::wait;

use super::server::{ServerConnection, V4, V6, lines, serve, shares};
use super::topology::{BOTH, DUAL, UplinkTopology, own, own6};

/// The sample size of shares. With an expected share of three quarters, a deviation of 30 occurs once in a million
/// runs.
const MANY: usize = 200;
const OFF: usize = 30;

fn weighted(host: &NetworkNamespace, to: SocketAddr) -> Vec<ServerConnection> {
    let lines = lines(host, to, MANY);
    let shares = shares(&lines);
    let first = shares.get(&own(1)).copied().unwrap_or_default();
    println!("proof: of {MANY} connections {first} took the uplink of weight 3 of 4");
    assert!(first.abs_diff(MANY * 3 / 4) <= OFF, "{shares:?}");
    assert_eq!(shares.values().sum::<usize>(), first + shares[&own(2)], "{shares:?}");
    lines
}

/// Connections survive changes of weights and health verdicts, and new connections follow the change.
fn stays(world: &UplinkTopology, host: &NetworkNamespace, to: SocketAddr) {
    let mut all = weighted(host, to);
    world.apply(&BOTH.replace("weight = 3", "weight = 0"));
    wait::until("the first takes nothing new", || world.one("one", "ipv4").share == 0.0);
    for line in &mut all {
        line.speak();
    }
    assert!(all.iter().any(|line| line.from == own(1)));
    let new = lines(host, to, 20);
    assert!(new.iter().all(|line| line.from == own(2)), "{:?}", shares(&new));
}

// Rows: Z01
#[test]
fn own_connections_take_uplinks_by_weight_and_stay() {
    let Some(world) = UplinkTopology::open(BOTH) else { return };
    let to = serve(&world.server, V4.into());
    stays(&world, &world.host, to);
    assert!(world.one("one", "ipv4").originated >= 100);
    let shown = world.verb(&["status"]).stdout;
    assert!(shown.contains("UPLINK") && shown.contains("198.51.100.1 answers"), "{shown}");
}

#[test]
fn forwarded_connections_take_uplinks_by_weight_and_stay() {
    let inside = "[uplinks]\ninside = \"lan0\"\n";
    let Some(world) = UplinkTopology::open(&format!("{inside}{BOTH}")) else { return };
    let to = serve(&world.server, V4.into());
    let mut all = weighted(&world.inside, to);
    let changed = format!("{inside}{}", BOTH.replace("weight = 3", "weight = 0"));
    world.apply(&changed);
    wait::until("the first takes nothing new", || world.one("one", "ipv4").share == 0.0);
    for line in &mut all {
        line.speak();
    }
    let new = lines(&world.inside, to, 20);
    assert!(new.iter().all(|line| line.from == own(2)), "{:?}", shares(&new));
    wait::until("each is counted once", || {
        let all = ["one", "two"].map(|name| world.one(name, "ipv4").forwarded);
        all.iter().sum::<u64>() == MANY as u64 + 20
    });
}

#[test]
fn both_families_are_shared_and_priorities_hold() {
    let uplinks = format!("[uplinks]\ninside = \"lan0\"\nsource-nat = \"both\"\n{DUAL}");
    let Some(world) = UplinkTopology::open(&uplinks) else { return };
    let to = serve(&world.server, V6.into());
    for host in [&world.host, &world.inside] {
        let shares = shares(&lines(host, to, 100));
        assert_eq!(shares.keys().copied().collect::<Vec<_>>(), [own6(1), own6(2)], "{shares:?}");
        assert!(shares.values().all(|share| share.abs_diff(50) <= 25), "{shares:?}");
    }
    let second = uplinks.replacen("interface = \"eth1\"", "priority = 2\ninterface = \"eth1\"", 1);
    world.apply(&second);
    wait::until("the first has the second rank", || world.one("one", "ipv6").share == 0.0);
    for host in [&world.host, &world.inside] {
        assert!(lines(host, to, 20).iter().all(|line| line.from == own6(2)));
    }
}

#[test]
fn what_is_bound_to_an_address_leaves_by_its_uplink() {
    let Some(world) = UplinkTopology::open(BOTH) else { return };
    let to = serve(&world.server, V4.into());
    for uplink in [1, 2] {
        for _ in 0..10 {
            let from = world.host.run_inside(|| bound(own(uplink), to)).unwrap();
            assert_eq!(from, own(uplink));
        }
    }
    // Routes more specific than the default route are not affected.
    let near = serve(&world.routers[1], IpAddr::from([10, 61, 2, 1]));
    for _ in 0..10 {
        assert!(ServerConnection::to(&world.host, near, Duration::from_secs(5)).is_some());
    }
}

/// Connects from an address, and returns the source address that the server saw.
fn bound(from: IpAddr, to: SocketAddr) -> IpAddr {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        let mut stream = socket.connect(to).await.unwrap();
        let mut line = String::new();
        let mut reader = tokio::io::BufReader::new(&mut stream);
        tokio::io::AsyncBufReadExt::read_line(&mut reader, &mut line).await.unwrap();
        line.trim().parse().unwrap()
    })
}
