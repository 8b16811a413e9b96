//! Several services and both IP families: `nat` services that share a server and a return address, pools of both
//! families, datagrams that exceed a tunnel's MTU, and a wildcard service.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use lab::net::SiteLayout;
use tests::e2e::cli_environment::run_command;
use tests::e2e::nginx::Nginx;
use tests::e2e::packet_balancer::{BOTH, IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::tools::program;
use tests::e2e::wait;

/// Requests of each kind.
const EACH: usize = 12;

/// A plane whose servers run nginx on ports 80 and 8080.
fn opened(layout: &SiteLayout, words: PacketConfig) -> (PacketBalancer, Vec<Nginx>) {
    let mut plane = PacketBalancer::open_without_daemon(layout, words);
    let nginx = |(number, node): (usize, &lab::net::SiteHost)| {
        let listen = "80; listen [::]:80; listen 8080; listen [::]:8080";
        Nginx::inside(node.name(), &format!("server{number}"), listen, "")
    };
    let nginx = plane.site.servers.iter().enumerate().map(nginx).collect();
    plane.load_decapsulators();
    plane.start();
    plane.wait_until_all_up();
    (plane, nginx)
}

/// Sends requests to an address, each on a new connection, and counts the status codes.
fn count_statuses(plane: &PacketBalancer, to: &str, requests: usize) -> BTreeMap<String, usize> {
    let mut curl = plane.site.client.command(program("curl"));
    curl.args(["-sS", "-g", "--max-time", "8", "-H", "Connection: close"]);
    for _ in 0..requests {
        curl.args(["-o", "/dev/null", "-w", "%{http_code}\n", &format!("http://{to}/")]);
    }
    let mut codes = BTreeMap::new();
    for line in run_command(curl).stdout.lines() {
        *codes.entry(line.to_owned()).or_default() += 1;
    }
    codes
}

fn all_answered(plane: &PacketBalancer, to: &str) {
    let codes = count_statuses(plane, to, EACH);
    assert_eq!(codes, [("200".to_owned(), EACH)].into(), "{to}: {}", plane.daemon_output());
}

/// A service of two ports, with the same server and return address as a service of one port.
fn beside(listen: &str) -> String {
    format!(
        "[service.beside]\nlisten = \"{listen}\"\nforward = \"nat\"\npool = \"beside\"\n\
         [pool.beside]\nservers = [\"10.10.0.11:80\"]\n"
    )
}

// Rows: Z02
#[test]
fn nat_services_of_one_port_and_of_many_share_a_server() {
    if !ready() {
        return;
    }
    let words = PacketConfig::new("nat", &[0]).with_tables(&beside("198.51.100.11:80,8080"));
    let (mut plane, _nginx) =
        opened(&SiteLayout { local_servers: 1, ..SiteLayout::default() }, words);
    for _ in 0..3 {
        for to in ["198.51.100.10:80", "198.51.100.11:80", "198.51.100.11:8080"] {
            all_answered(&plane, to);
        }
    }
    plane.change(|words| words.extra_tables = beside("198.51.100.11:*"));
    plane.wait_until_all_up();
    for to in ["198.51.100.10:80", "198.51.100.11:80", "198.51.100.11:8080"] {
        all_answered(&plane, to);
    }
}

/// A reload that adds a port to a service keeps old connections, and new connections to the port work at once.
#[test]
fn a_port_more_keeps_a_nat_service_working() {
    if !ready() {
        return;
    }
    let words = PacketConfig::new("nat", &[0]).with_tables(&beside("198.51.100.11:80"));
    let (mut plane, _nginx) =
        opened(&SiteLayout { local_servers: 1, ..SiteLayout::default() }, words);
    all_answered(&plane, "198.51.100.11:80");
    let kept = plane.load(IpVersion::V4, lab::load::ConnectionReuse::KeepAlive, 8);
    wait::until("requests are answered", || kept.report().answered > 20);
    plane.change(|words| words.extra_tables = beside("198.51.100.11:80,8080"));
    // A generation is active before the tables carry it out.
    plane.wait_until_all_up();
    for to in ["198.51.100.11:80", "198.51.100.11:8080", "198.51.100.10:80"] {
        all_answered(&plane, to);
    }
    plane.change(|words| words.extra_tables = beside("198.51.100.11:80"));
    plane.wait_until_all_up();
    all_answered(&plane, "198.51.100.11:80");
    let report = tests::e2e::steady_traffic::stop_load(kept);
    assert_eq!(report.failed, 0, "{:?}\n{}", report.failed_by_cause, plane.daemon_output());
}

/// One service of both IP families with a pool of both: each client gets a server of its family.
#[test]
fn a_nat_service_of_both_families_chooses_within_them() {
    if !ready() {
        return;
    }
    let more = "[service.both]\nlisten = [\"198.51.100.11:80\", \"[2001:db8:e::11]:80\"]\nforward = \"nat\"\n\
                pool = \"both\"\n[pool.both]\nservers = [\"10.10.0.11:80\", \"[2001:db8:a::b]:80\", \"10.10.0.12:80\"]\n";
    let words = PacketConfig::new("nat", &[0, 1]).with_tables(more);
    let (plane, _nginx) = opened(&SiteLayout { local_servers: 2, ..SiteLayout::default() }, words);
    for to in ["198.51.100.11:80", "[2001:db8:e::11]:80"] {
        all_answered(&plane, to);
    }
    let outcomes = plane.packets().outcomes;
    assert!(!outcomes.iter().any(|one| one.name == "no-server"), "{outcomes:?}");
}

/// The first oversized datagram is lost. Its sender receives an ICMP error although it allows fragments, and then sends
/// smaller ones.
#[test]
fn large_datagrams_come_through_tunnels() {
    if !ready() {
        return;
    }
    for mode in ["", "mode = \"generic\"\n"] {
        let words = PacketConfig::new("tunnel", &[0]).packets(mode);
        let mut plane = PacketBalancer::open_without_daemon(
            &SiteLayout { local_servers: 1, ..SiteLayout::default() },
            words,
        );
        plane.serve();
        plane.load_decapsulators();
        plane.start();
        plane.wait_until_all_up();
        for version in BOTH {
            wait::until("the client has learned what fits", || {
                plane.datagrams(version, 1, 4_000).values().sum::<usize>() == 1
            });
            let got = plane.datagrams(version, EACH, 4_000);
            assert_eq!(
                got.values().sum::<usize>(),
                EACH,
                "{version:?} {mode}: {}",
                plane.daemon_output()
            );
        }
        let outcomes = plane.packets().outcomes;
        let told = outcomes.iter().any(|one| one.name == "too-big" && one.count.total > 0);
        assert!(told, "{mode}: {outcomes:?}");
    }
}

// Rows: I31
/// `0.0.0.0:*` takes transit packets only, and excludes the balancer's own listeners, health checks and connections.
#[test]
fn a_service_of_every_address_leaves_the_balancer_alone() {
    if !ready() {
        return;
    }
    let more = "[service.rest]\nlisten = [\"0.0.0.0:*\", \"[::]:*\"]\nforward = \"mac\"\npool = \"rest\"\n\
                [pool.rest]\nservers = [\"10.10.0.11:80\"]\nprobe = { tcp = true, interval = \"300ms\", timeout = \"250ms\" }\n";
    let words = PacketConfig::new("mac", &[0]).with_tables(more);
    let (plane, _nginx) = opened(&SiteLayout { local_servers: 1, ..SiteLayout::default() }, words);
    let own = plane.site.balancer.run_inside(|| {
        let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().take(1) {
                use std::io::{Read, Write};
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 512]);
                let _ = stream.write_all(b"HTTP/1.0 204 No Content\r\n\r\n");
            }
        });
        port
    });
    let at = SocketAddr::new(plane.site.balancer.host.v4.into(), own.unwrap());
    assert_eq!(count_statuses(&plane, &at.to_string(), 1), [("204".to_owned(), 1)].into());
    // Health checks of the pool still succeed: all servers were up and stay up.
    plane.wait_until_all_up();
    BOTH.into_iter().for_each(|version| {
        assert_eq!(plane.curl(version, EACH).len(), 1, "{}", plane.daemon_output());
    });
}
