//! Rows: an old snapshot, a new one, and exactly the writes in between, in order.

use l4::map_write::MapWrite;
use model::snapshot::ServerState;

use super::explanations::words;
use super::pictures::{PlannerFixture, pool, service};

const TWO: [&str; 2] = ["10.0.0.1:80", "10.0.0.2:80"];
const AT: &str = "203.0.113.10:80";

fn web(forward: &str, keys: &str, servers: &[&str], pool_keys: &str) -> String {
    service("web", forward, AT, keys) + &pool("web", servers, pool_keys)
}

fn mac(servers: &[&str]) -> String {
    web("mac", "", servers, "")
}

fn nat(keys: &str) -> String {
    web("nat", keys, &["10.0.0.1:8080"], "source = \"10.0.0.254\"")
}

/// The name of the change, the configurations before and after, and the writes.
type WriteCase = (&'static str, String, String, Vec<&'static str>);

/// Changes of servers, which do not change the rest.
fn of_servers() -> Vec<WriteCase> {
    let three = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"];
    vec![
        (
            "the first service",
            String::new(),
            mac(&TWO),
            vec![
                "server 0 10.0.0.1:0 of 0 takes+serves",
                "server 1 10.0.0.2:0 of 0 takes+serves",
                "schedule 0: 0 1",
                "pool 0 schedule 0+2",
                "service 0 mac pool 0 rules 0+0",
                "vip 203.0.113.10:80/6 = 0",
                "address 203.0.113.10 = 1",
            ],
        ),
        ("nothing", mac(&TWO), mac(&TWO), vec![]),
        (
            "a server more: its entry before the schedule that names it, the schedule before the pool",
            mac(&TWO),
            mac(&three),
            vec![
                "server 2 10.0.0.3:0 of 0 takes+serves",
                "schedule 2: 0 1 2",
                "pool 0 schedule 2+3",
            ],
        ),
        (
            "a server less: it serves what it has",
            mac(&three),
            mac(&TWO),
            vec!["server 2 10.0.0.3:0 of 0 serves", "schedule 3: 0 1", "pool 0 schedule 3+2"],
        ),
        (
            "a weight",
            mac(&TWO),
            mac(&["10.0.0.1:80*2", "10.0.0.2:80"]),
            vec!["schedule 2: 0 1 0", "pool 0 schedule 2+3"],
        ),
        (
            "a time of the service alone",
            mac(&TWO),
            web("mac", "idle-timeout = \"1h\"", &TWO, ""),
            vec!["service 0 mac pool 0 rules 0+0"],
        ),
    ]
}

/// Changes of listeners and clients.
fn of_services() -> Vec<WriteCase> {
    vec![
        (
            "another port: the new one before the old one goes",
            mac(&TWO),
            mac(&TWO).replace(":80", ":81"),
            vec!["vip 203.0.113.10:81/6 = 0", "drop vip 203.0.113.10:80/6"],
        ),
        (
            "any port",
            mac(&TWO),
            mac(&TWO).replace("203.0.113.10:80", "203.0.113.10:*"),
            vec![
                // Ports that this host proxies are excluded from the wildcard.
                "service 1 host pool -1 rules 0+0",
                "vip 203.0.113.10:0/6 = 0",
                "flags 1",
                "drop vip 203.0.113.10:80/6",
            ],
        ),
        (
            "UDP too",
            mac(&TWO),
            web("mac", "protocol = [\"tcp\", \"udp\"]", &TWO, ""),
            vec!["vip 203.0.113.10:80/17 = 0"],
        ),
        (
            "a network kept out, another no more",
            web("mac", "guard = { deny = [\"192.0.2.0/24\"] }", &TWO, ""),
            web("mac", "guard = { deny = [\"198.51.100.0/24\"] }", &TWO, ""),
            vec!["guard of 0 198.51.100.0/120 guard-deny", "drop guard of 0 192.0.2.0"],
        ),
    ]
}

/// Changes of the forwarding.
fn of_forwarding() -> Vec<WriteCase> {
    let ruled = |rule: &str| {
        service("web", "mac", AT, rule)
            + &pool("web", &TWO, "")
            + &pool("night", &["10.0.0.9:80"], "")
    };
    let night = "rule = [{ when = { tos = 8 }, pool = \"night\" }]";
    vec![
        (
            "a rule with a pool of its own",
            ruled(""),
            ruled(night),
            vec![
                "server 2 10.0.0.9:0 of 0 takes+serves",
                "schedule 2: 2",
                "pool 1 schedule 2+1",
                "rules 0: to pools 1",
                "service 0 mac pool 0 rules 0+1",
            ],
        ),
        (
            "no rule any more",
            ruled(night),
            ruled(""),
            vec!["server 2 10.0.0.9:0 of 0 serves", "service 0 mac pool 0 rules 0+0"],
        ),
        (
            "another method",
            mac(&TWO),
            web("tunnel", "", &TWO, ""),
            vec!["service 0 tunnel pool 0 rules 0+0"],
        ),
        (
            "translated: the share before its key, the key before the list, the list before the server",
            String::new(),
            nat(""),
            vec![
                "share 0 10.0.0.254/6 records 0+64510",
                "share4 10.0.0.1:8080 10.0.0.254/6 = 0",
                "list 0: 0",
                "server 0 10.0.0.1:8080 of 0 takes+serves list 0+1",
                "schedule 0: 0",
                "pool 0 schedule 0+1",
                "service 0 nat pool 0 rules 0+0",
                "vip 203.0.113.10:80/6 = 0",
                "address 10.0.0.254 = 2",
                "address 203.0.113.10 = 1",
                "flags 4",
            ],
        ),
        (
            "the service goes: nothing finds it before its servers are told",
            mac(&TWO),
            String::new(),
            vec![
                "server 0 10.0.0.1:0 of 0 serves",
                "server 1 10.0.0.2:0 of 0 serves",
                "drop vip 203.0.113.10:80/6",
                "drop address 203.0.113.10",
            ],
        ),
    ]
}

#[test]
fn each_change_writes_what_differs_and_no_more() {
    let rows = [of_servers(), of_services(), of_forwarding()].concat();
    for (text, before, after, expected) in rows {
        let mut bench = PlannerFixture::new();
        let first = bench.change(&before);
        assert!(first.obstacles.is_empty(), "{text}: {:?}", first.obstacles);
        let change = bench.change(&after);
        assert!(change.obstacles.is_empty(), "{text}: {:?}", change.obstacles);
        assert_eq!(words(&change.writes), expected, "{text}");
    }
}

#[test]
fn what_happens_to_a_server_is_written() {
    let rows = [
        (
            ServerState::Down,
            vec!["server 0 10.0.0.1:0 of 0 serves", "schedule 2: 1", "pool 0 schedule 2+1"],
        ),
        (
            ServerState::Drain,
            vec!["server 0 10.0.0.1:0 of 0 serves", "schedule 2: 1", "pool 0 schedule 2+1"],
        ),
        (
            ServerState::Disabled,
            vec!["server 0 10.0.0.1:0 of 0 resets", "schedule 2: 1", "pool 0 schedule 2+1"],
        ),
    ];
    for (state, expected) in rows {
        let mut bench = PlannerFixture::new();
        bench.change(&mac(&TWO));
        bench.states.insert("10.0.0.1:80".parse().unwrap(), state);
        assert_eq!(words(&bench.change(&mac(&TWO)).writes), expected, "{}", state.name());
        bench.states.clear();
        let back = words(&bench.change(&mac(&TWO)).writes);
        assert_eq!(back.last().unwrap(), "pool 0 schedule 0+2", "{}", state.name());
    }
}

#[test]
fn a_server_that_drains_and_keeps_its_clients_is_distinguished() {
    let mut bench = PlannerFixture::new();
    bench.change(&mac(&TWO));
    bench.states.insert("10.0.0.1:80".parse().unwrap(), ServerState::Drain);
    bench.sticky_services.insert("10.0.0.1:80".parse().unwrap());
    let expected =
        ["server 0 10.0.0.1:0 of 0 serves+keeps", "schedule 2: 1", "pool 0 schedule 2+1"];
    assert_eq!(words(&bench.change(&mac(&TWO)).writes), expected);
    bench.sticky_services.clear();
    let over = words(&bench.change(&mac(&TWO)).writes);
    assert_eq!(over, ["server 0 10.0.0.1:0 of 0 serves"], "the limit has passed");
}

// Rows: I15
#[test]
fn where_all_are_down_all_may_be_chosen() {
    let mut bench = PlannerFixture::new();
    bench.change(&mac(&TWO));
    for at in ["10.0.0.1:80", "10.0.0.2:80"] {
        bench.states.insert(at.parse().unwrap(), ServerState::Down);
    }
    assert_eq!(words(&bench.change(&mac(&TWO)).writes), Vec::<String>::new());
}

#[test]
fn what_this_machine_is_decides_too() {
    let with = |change: &dyn Fn(&mut PlannerFixture)| {
        let mut bench = PlannerFixture::new();
        change(&mut bench);
        bench
    };
    let ip = |text: &str| text.parse::<std::net::IpAddr>().unwrap();
    let here = with(&|bench| {
        let local = std::collections::HashSet::from([ip("10.0.0.1"), ip("10.0.0.254")]);
        bench.facts.local_addresses = std::sync::Arc::new(local);
    });
    let routed = with(&|bench| {
        bench.facts.routed_servers = std::sync::Arc::new([ip("10.0.0.1")].into());
    });
    let rows = [
        ("a server here", here, mac(&TWO), "server 0 10.0.0.1:0 of 0 takes+serves+local"),
        ("a server behind a router", routed, mac(&TWO), "server 0 10.0.0.1:0 of 0 gone"),
    ];
    for (text, mut bench, config, expected) in rows {
        assert!(words(&bench.change(&config).writes).contains(&expected.to_owned()), "{text}");
    }
    // Translated packets for a server on this host arrive at the service's port; no process listens at another port.
    for (listens, expected) in [
        ("10.0.0.1:80", "server 0 10.0.0.1:80 of 0 takes+serves+local list 0+1"),
        ("10.0.0.1:8080", "server 0 10.0.0.1:8080 of 0 local list 0+1"),
    ] {
        let mut bench = PlannerFixture::new();
        let local = std::collections::HashSet::from([ip("10.0.0.1"), ip("10.0.0.254")]);
        bench.facts.local_addresses = std::sync::Arc::new(local);
        let config = web("nat", "", &[listens], "source = \"10.0.0.254\"");
        let writes = words(&bench.change(&config).writes);
        assert!(writes.contains(&expected.to_owned()), "{writes:#?}");
    }
}

#[test]
fn services_that_cannot_be_forwarded_have_a_reason() {
    let rows = [
        ("no return address", web("nat", "", &["10.0.0.1:80"], ""), "needs a return address"),
        (
            "not ours",
            web("nat", "", &["10.0.0.1:80"], "source = \"10.9.9.9\""),
            "on no interface of this machine",
        ),
        (
            "too many servers",
            mac(&(1..=65)
                .map(|at| format!("10.0.0.{at}:80"))
                .collect::<Vec<_>>()
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()),
            "has room for 64",
        ),
    ];
    for (text, config, why) in rows {
        let mut bench = PlannerFixture::new();
        let change = bench.change(&config);
        assert!(change.obstacles["web"].contains(why), "{text}: {:?}", change.obstacles);
        assert!(!words(&change.writes).iter().any(|write| write.starts_with("vip")), "{text}");
        // The entries of the failed plan are free for others.
        let many: Vec<String> = (1..=64).map(|at| format!("10.0.1.{at}:80")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let other = service("other", "mac", "203.0.113.11:80", "") + &pool("other", &many, "");
        let change = bench.change(&other);
        assert!(change.obstacles.is_empty(), "{text}: {:?}", change.obstacles);
        bench.sweep(&[], &[]);
        bench.change("");
        (0..2).for_each(|_| drop(bench.sweep(&[], &[])));
        bench.change(&mac(&TWO));
        assert_eq!(bench.planner.service_index("web"), Some(0), "{text}");
    }
}

#[test]
fn schedules_of_least_connections_follow_the_sweep() {
    let mut bench = PlannerFixture::new();
    let config = web("mac", "", &TWO, "balance = \"least-connections\"");
    let first = words(&bench.change(&config).writes);
    assert!(first.contains(&"schedule 0: 128 entries".to_owned()), "{first:#?}");
    let (even, _) = bench.sweep(&[(0, 10), (1, 10)], &[(0, 100)]);
    assert_eq!(words(&even), Vec::<String>::new(), "level already");
    let (writes, _) = bench.sweep(&[(0, 300), (1, 0)], &[(0, 100)]);
    let [l4::map_write::MapWrite::Schedule(at, entries)] = &writes[..] else {
        panic!("{writes:?}")
    };
    assert!(entries.iter().filter(|entry| **entry == 0).count() <= 1, "{at} {entries:?}");
    assert!((*at as usize + entries.len()) <= 128, "in its place");
    // A change of neither members nor weights leaves the schedule unchanged.
    assert_eq!(words(&bench.change(&config).writes), Vec::<String>::new());
    let timed = web("mac", "idle-timeout = \"1h\"", &TWO, "balance = \"least-connections\"");
    assert_eq!(words(&bench.change(&timed).writes), ["service 0 mac pool 0 rules 0+0"]);
}

#[test]
fn cookies_are_for_nat_whose_servers_are_elsewhere() {
    let flags = |text: &str, local: bool| {
        let mut bench = PlannerFixture::new();
        if local {
            let here = ["10.0.0.254", "10.0.0.1"].map(|ip| ip.parse().unwrap());
            bench.facts.local_addresses = std::sync::Arc::new(here.into());
        }
        let writes = bench.change(text).writes;
        let service = writes.iter().find_map(|write| match write {
            l4::map_write::MapWrite::Service(_, service) => Some(*service),
            _ => None,
        });
        let service = service.unwrap();
        (service.flags & l4::abi::SERVICE_COOKIES != 0, service.half_open_limit)
    };
    let guarded = "guard = { half-open = 9, syn-cookies = true }";
    assert_eq!(flags(&nat(guarded), false), (true, 9));
    assert_eq!(flags(&nat("guard = { half-open = 9 }"), false), (false, 0));
    assert_eq!(flags(&nat(guarded), true), (false, 0), "this host answers itself");
}

#[test]
fn shared_addresses_are_asked_about_and_may_be_return_addresses_before_they_are_here() {
    let mut bench = PlannerFixture::new();
    let text = web("nat", "", &["10.0.0.1:8080"], "source = \"10.0.0.77\"")
        + &service("own", "mac", "203.0.113.11:80", "")
        + &pool("own", &["10.0.0.5:80"], "");
    let asked = |bench: &mut PlannerFixture, shared: &[&str]| {
        bench.facts.shared_addresses =
            std::sync::Arc::new(shared.iter().map(|ip| ip.parse().unwrap()).collect());
        let change = bench.change(&text);
        let flags = change.writes.iter().filter_map(|write| match write {
            MapWrite::Service(at, service) => {
                Some((*at, service.flags & l4::abi::SERVICE_SHARED != 0))
            }
            _ => None,
        });
        (change.obstacles.len(), flags.collect::<std::collections::BTreeMap<u32, bool>>())
    };
    let (obstacles, _) = asked(&mut bench, &[]);
    assert_eq!(obstacles, 1, "the return address is nobody's");
    let (obstacles, flags) = asked(&mut bench, &["10.0.0.77"]);
    assert_eq!((obstacles, flags.values().any(|shared| *shared)), (0, false));
    let (_, flags) = asked(&mut bench, &["10.0.0.77", "203.0.113.10"]);
    assert_eq!(flags.values().filter(|shared| **shared).count(), 1, "{flags:?}");
}
