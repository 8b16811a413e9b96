//! Listeners and pools by IP family: separate pools with `nat`, wildcard services without the host's addresses, and
//! shares of one port beside shares of all ports.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use l4::abi;
use l4::map_write::MapWrite;
use model::snapshot::ServerState;

use super::explanations::words;
use super::maps::SimulatedMaps;
use super::pictures::{PlannerFixture, pool, service};

const MIXED: [&str; 4] = ["10.0.0.1:80*2", "[fd00::1]:80", "10.0.0.2:80", "[fd00::2]:80*3"];
const RETURNS: &str = "[packets]\nreturn = [\"10.0.0.254\", \"fd00::fe\"]\n";

/// A service that listens in both families.
fn both(forward: &str, balance: &str) -> String {
    let listen = "listen = [\"203.0.113.10:80\", \"[2001:db8::10]:80\"]";
    let text = service("web", forward, "LISTEN", "").replace("listen = \"LISTEN\"", listen);
    RETURNS.to_owned() + &text + &pool("web", &MIXED, balance)
}

/// Schedules of the pools that IPv4 and IPv6 clients choose from, as addresses.
fn schedules(writes: &[MapWrite]) -> [Vec<IpAddr>; 2] {
    let servers = |index: u32| {
        let found = writes.iter().rev().find_map(|write| match write {
            MapWrite::Server(at, server) if *at == index => Some(server.addr),
            _ => None,
        });
        l4::plan::encoding::from_mapped_bytes(found.unwrap())
    };
    let pool = |index: u32| {
        let found = writes.iter().rev().find_map(|write| match write {
            MapWrite::Pool(at, pool) if *at == index => Some(*pool),
            _ => None,
        });
        found.unwrap()
    };
    let entries = |index: u32| {
        let one = pool(index);
        let found = writes.iter().rev().find_map(|write| match write {
            MapWrite::Schedule(at, entries) if *at == one.first => Some(entries.clone()),
            _ => None,
        });
        found.unwrap_or_default().into_iter().map(servers).collect::<Vec<_>>()
    };
    let first = writes.iter().rev().find_map(|write| match write {
        MapWrite::Service(_, service) => Some(service.pool),
        _ => None,
    });
    let first = first.unwrap();
    let second = pool(first).pool6;
    [entries(first), entries(if second > 0 { second - 1 } else { first })]
}

#[test]
fn each_family_of_nat_has_its_own_servers_with_their_weights() {
    for balance in
        ["", "balance = \"maglev\"", "balance = \"source\"", "balance = \"least-connections\""]
    {
        let change = PlannerFixture::new().change(&both("nat", balance));
        assert!(change.obstacles.is_empty(), "{:?}", change.obstacles);
        let [v4, v6] = schedules(&change.writes);
        assert!(!v4.is_empty() && v4.iter().all(IpAddr::is_ipv4), "{balance}: {v4:?}");
        assert!(!v6.is_empty() && v6.iter().all(IpAddr::is_ipv6), "{balance}: {v6:?}");
    }
    let [v4, v6] = schedules(&PlannerFixture::new().change(&both("nat", "")).writes);
    let count = |of: &[IpAddr], ip: &str| of.iter().filter(|at| at.to_string() == ip).count();
    assert_eq!((v4.len(), count(&v4, "10.0.0.1")), (3, 2));
    assert_eq!((v6.len(), count(&v6, "fd00::2")), (4, 3));
    for direct in ["mac", "tunnel"] {
        let [v4, v6] = schedules(&PlannerFixture::new().change(&both(direct, "")).writes);
        assert_eq!((v4.len(), &v4), (7, &v6), "{direct}: any server has any family");
    }
}

/// If all servers of a family are down, its clients get all of them, regardless of the other family.
#[test]
fn each_family_depends_on_its_own_servers() {
    let mut bench = PlannerFixture::new();
    let down = |text: &str| text.parse::<SocketAddr>().unwrap();
    bench.states.extend([
        (down("[fd00::1]:80"), ServerState::Down),
        (down("[fd00::2]:80"), ServerState::Down),
        (down("10.0.0.1:80"), ServerState::Down),
    ]);
    let [v4, v6] = schedules(&bench.change(&both("nat", "")).writes);
    assert_eq!(v4, ["10.0.0.2".parse::<IpAddr>().unwrap()]);
    assert_eq!(v6.len(), 4, "all are down: all may be chosen");
}

#[test]
fn a_server_of_this_machine_has_both_families() {
    let mut bench = PlannerFixture::new();
    let local: HashSet<IpAddr> =
        ["10.0.0.254", "fd00::fe", "10.0.0.2"].map(|ip| ip.parse().unwrap()).into();
    bench.facts.local_addresses = Arc::new(local);
    let [v4, v6] = schedules(&bench.change(&both("nat", "")).writes);
    let here = "10.0.0.2".parse::<IpAddr>().unwrap();
    assert!(v4.contains(&here) && v6.contains(&here), "{v4:?} {v6:?}");
    assert!(!v6.contains(&"10.0.0.1".parse().unwrap()), "{v6:?}");
}

/// The flag for pairs of shares is written before the second kind of share, and cleared after it.
#[test]
fn port_pairs_are_flagged_before_shares_of_both_kinds() {
    let one = service("one", "nat", "203.0.113.10:80", "") + &pool("one", &["10.0.0.1:80"], "");
    let two = |listen: &str| {
        let text = service("two", "nat", listen, "") + &pool("two", &["10.0.0.1:80"], "");
        RETURNS.to_owned() + &one + &text
    };
    let pairs = |writes: &[MapWrite]| {
        let flags = writes.iter().filter_map(|write| match write {
            MapWrite::Flags(flags) | MapWrite::Expect(flags) => {
                Some(flags & abi::CONFIG_PORT_PAIRS != 0)
            }
            _ => None,
        });
        flags.collect::<Vec<_>>()
    };
    let mut bench = PlannerFixture::new();
    let first = bench.change(&two("203.0.113.11:80")).writes;
    assert_eq!(pairs(&first), [false], "both use the same ports of the same share");
    for listen in ["203.0.113.11:80,8080", "203.0.113.11:*"] {
        let second = bench.change(&two(listen)).writes;
        assert!(matches!(second[0], MapWrite::Expect(_)), "{listen}: {:?}", words(&second));
        assert!(pairs(&second).iter().all(|pair| *pair), "{listen}");
    }
    bench.change(&(RETURNS.to_owned() + &one));
    let mut over = Vec::new();
    for _ in 0..5 {
        over.extend(bench.sweep(&[], &[]).0);
    }
    assert_eq!(pairs(&over), [false], "{:?}", words(&over));
}

/// A wildcard service excludes the host's addresses, which are written while such a service exists.
#[test]
fn this_machines_addresses_are_known_where_a_service_has_every_address() {
    let mut bench = PlannerFixture::new();
    let mut maps = SimulatedMaps::default();
    let own = |maps: &SimulatedMaps| {
        let kinds = maps.resolved();
        let kinds = kinds.get("address 10.0.0.253").map(|kinds| kinds.parse::<u32>().unwrap());
        kinds.unwrap_or(0) & abi::ADDRESS_OWN != 0
    };
    let any = service("web", "mac", "0.0.0.0:*", "") + &pool("web", &["10.0.0.1:80"], "");
    maps.apply(&bench.change(&any).writes);
    assert!(own(&maps));
    let local: HashSet<IpAddr> = ["10.0.0.254"].map(|ip| ip.parse().unwrap()).into();
    bench.facts.local_addresses = Arc::new(local);
    maps.apply(&bench.change(&any).writes);
    assert!(!own(&maps), "it went to another machine");
    let local: HashSet<IpAddr> = ["10.0.0.253"].map(|ip| ip.parse().unwrap()).into();
    bench.facts.local_addresses = Arc::new(local);
    let named = any.replace("0.0.0.0:*", "203.0.113.10:*");
    maps.apply(&bench.change(&named).writes);
    assert!(!own(&maps), "no service has every address");
}

/// A service may not take every port of the source address of this host's own connections.
#[test]
fn every_port_of_the_address_of_our_own_connections_is_refused() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let text =
        |listen: &str| service("web", "mac", listen, "") + &pool("web", &["10.0.0.1:80"], "");
    for (listen, refused) in
        [("10.0.0.253:*", true), ("10.0.0.253:80,443", false), ("203.0.113.10:*", false)]
    {
        let mut bench = PlannerFixture::new();
        bench.facts.source_addresses = Arc::new([(ip("10.0.0.1"), ip("10.0.0.253"))].into());
        let change = bench.change(&text(listen));
        let is_reported =
            change.obstacles.get("web").is_some_and(|why| why.contains("own connections"));
        assert_eq!(is_reported, refused, "{listen}: {:?}", change.obstacles);
    }
}
