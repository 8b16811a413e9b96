//! Packet forwarding: the meaning of valid files, and each kind of mistake as a row.

use std::time::Duration;

use model::config::{
    AllDownPolicy, BalancePolicy, ForwardingMode, HashKey, HeaderAction, ListenRange, PortRange,
    TcpNormalization, TunnelKind,
};

use super::support::{errors, findings, good};

/// A service of a method and its pool, with more keys for each.
fn file(forward: &str, service: &str, pool: &str) -> String {
    format!(
        "[service.s]\nlisten = \"203.0.113.10:80\"\nforward = \"{forward}\"\npool = \"p\"\n{service}\n\
         [pool.p]\n{pool}\nservers = [\"10.0.0.1:80\", \"10.0.0.2:80\"]\n"
    )
}

#[test]
fn nothing_written_has_the_documented_defaults() {
    let config = good(&file("mac", "", "")).config;
    let service = &config.services["s"];
    assert_eq!(service.forward, ForwardingMode::Mac);
    assert!(service.listen.is_empty());
    let packets = service.packets.as_ref().unwrap();
    assert_eq!(packets.listen, [ListenRange::single_port([203, 0, 113, 10].into(), 80)]);
    assert_eq!((packets.protocols.tcp, packets.protocols.udp), (true, false));
    let timers = &packets.timers;
    assert_eq!((timers.fin, timers.stale), (Duration::from_secs(30), Duration::from_secs(7_440)));
    assert_eq!((packets.sticky, packets.mss), (None, None));
    assert_eq!(packets.tunnel.kind, TunnelKind::Ipip);
    let pool = &config.pools["p"];
    assert_eq!((pool.balance, pool.all_down), (BalancePolicy::RoundRobin, AllDownPolicy::Spread));
    assert_eq!(config.packets.interfaces, None);
    assert_eq!((config.packets.flows, config.packets.fragments), (1_048_576, 8_192));
    assert_eq!(config.packets.insight, Some(64));
    assert_eq!(config.packets.pins.to_str(), Some("/sys/fs/bpf/steelyard"));
}

#[test]
fn a_service_moves_between_methods_by_one_word() {
    for forward in ["mac", "nat", "tunnel", "tcp", "http"] {
        let checked = good(&file(forward, "", ""));
        assert_eq!(checked.config.services["s"].forward.name(), forward);
        assert!(checked.warnings.is_empty(), "{forward}: {:?}", checked.warnings);
    }
}

#[test]
fn ports_are_sets_ranges_or_any() {
    let listen = |text: &str| {
        let text = file("nat", "", "").replace("\"203.0.113.10:80\"", text);
        let config = good(&text).config;
        let spans = config.services["s"].packets.as_ref().unwrap().listen.clone();
        spans.iter().map(ListenRange::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        listen("\"203.0.113.10:80,443,8000-8010\""),
        "203.0.113.10:80 203.0.113.10:443 203.0.113.10:8000-8010"
    );
    assert_eq!(listen("\"203.0.113.10:*\""), "203.0.113.10:*");
    assert_eq!(listen("[\":53\", \"203.0.113.10:1-9\"]"), "0.0.0.0:53 [::]:53 203.0.113.10:1-9");
}

#[test]
fn everything_written_arrives() {
    let text = file(
        "nat",
        "protocol = [\"tcp\", \"udp\"]\nfin-timeout = \"15s\"\nidle-timeout = \"900s\"\nsticky = \"10m\"\n\
         mss-clamp = 1400\nnormalize = { sack = \"clear\", mss = \"drop\" }\ntimeout = { half-open = \"5s\", udp = \"1m\" }\n\
         guard = { allow = \"198.51.100.0/24\", deny = [\"198.51.100.7\"], ban = \"2m\", half-open = 1000, \
         syn-cookies = true, source = { syn-rate = 10, bandwidth = \"8Mbit/s\" } }\n\
         rule = [{ when = { client = \"10.0.0.0/8\", client-port = \"1024-2047\", hours = \"22:00-06:00\", days = \"sun\", tos = 8, \
         rate = 100 }, pool = \"p\" }]",
        "source = \"client\"",
    );
    let checked = good(&text);
    let packets = checked.config.services["s"].packets.as_ref().unwrap();
    assert!(packets.protocols.tcp && packets.protocols.udp);
    assert_eq!(packets.timers.fin, Duration::from_secs(15));
    assert_eq!(packets.timers.udp, Duration::from_secs(60));
    assert_eq!(packets.sticky.unwrap().time, Duration::from_secs(600));
    assert_eq!((packets.guard.half_open, packets.guard.source.syn_rate), (Some(1000), Some(10)));
    assert!(packets.guard.syn_cookies);
    let wanted = TcpNormalization {
        sack: HeaderAction::Clear,
        mss: HeaderAction::Drop,
        ..TcpNormalization::default()
    };
    assert_eq!(packets.normalize, wanted);
    assert_eq!(packets.guard.source.bandwidth, Some(8_000_000));
    assert_eq!(packets.rules[0].client_port, Some(PortRange { first: 1024, last: 2047 }));
    assert_eq!((packets.rules[0].rate, packets.rules[0].days), (Some(100), 0b100_0000));
    assert!(checked.config.pools["p"].source_client);
    // An explanation's output is the same configuration.
    let reloaded = good(&model::config::explain(&checked));
    assert_eq!(reloaded.config, checked.config);
}

#[test]
fn mistakes_are_reported_with_their_remedy() {
    let rows = [
        (
            "mac",
            "timeout = { header = \"1s\" }",
            "",
            "service.s.timeout.header",
            "proxied services",
        ),
        ("mac", "socket = { nodelay = true }", "", "service.s.socket", "proxied services"),
        ("mac", "mss-clamp = 1400", "", "service.s.mss-clamp", "belongs to `forward = \"nat\"`"),
        ("nat", "tunnel = \"gue\"", "", "service.s.tunnel", "belongs to `forward = \"tunnel\"`"),
        (
            "mac",
            "guard = { half-open = 9, syn-cookies = true }",
            "",
            "service.s.guard.syn-cookies",
            "syn-rate",
        ),
        (
            "nat",
            "guard = { syn-cookies = true }",
            "",
            "service.s.guard.syn-cookies",
            "from `half-open` connections on",
        ),
        ("nat", "timeout = { icmp = \"2s\" }", "", "service.s.timeout.icmp", "this machine itself"),
        ("nat", "guard = { ban = \"1m\" }", "", "service.s.guard.ban", "`source`"),
        ("nat", "guard = { deny = \"10.0.0.1/8\" }", "", "service.s.guard.deny", "bits beyond"),
        ("http", "fin-timeout = \"9s\"", "", "service.s.fin-timeout", "packet forwarding"),
        ("nat", "protocol = \"sctp\"", "", "service.s.protocol", "not a word"),
        ("nat", "protocol = [\"tcp\", \"tcp\"]", "", "service.s.protocol", "twice"),
        ("nat", "rule = [{ pool = \"q\" }]", "", "service.s.rule[0].pool", "there is no pool"),
        ("nat", "rule = [{ when = { tos = 8 } }]", "", "service.s.rule[0].pool", "needs `pool`"),
        (
            "nat",
            "rule = [{ when = { hours = \"25:00-26:00\" }, pool = \"p\" }]",
            "",
            "service.s.rule[0].when.hours",
            "part of the day",
        ),
        ("nat", "", "source = \"203.0.113.10\"", "pool.p.source", "is where service `s` listens"),
        ("tcp", "", "source = \"client\"", "pool.p.source", "socket.transparent"),
        ("mac", "", "balance = \"least-request\"", "pool.p.balance", "more than packets show"),
        ("mac", "", "balance = \"random\"", "pool.p.balance", "more than packets show"),
    ];
    for (forward, service, pool, key, says) in rows {
        is_reported(&file(forward, service, pool), key, says);
    }
}

/// A file has an error of this key with this part of a message.
fn is_reported(text: &str, key: &str, says: &str) {
    let errors = errors(text);
    let hit = errors.iter().any(|error| error.key == key && error.message.contains(says));
    assert!(hit, "{key}: {says}\n{errors:#?}\nin:\n{text}");
}

#[test]
fn mistakes_in_normalization_are_reported() {
    let rows = [
        ("nat", "normalize = { sack = \"no\" }", "", "service.s.normalize.sack", "not a word"),
        (
            "mac",
            "protocol = \"udp\"\nnormalize = { sack = \"drop\" }",
            "",
            "service.s.normalize",
            "TCP",
        ),
        (
            "mac",
            "normalize = { exceed-mss = \"drop\" }",
            "",
            "service.s.normalize.exceed-mss",
            "belongs to `forward = \"nat\"`",
        ),
        (
            "nat",
            "normalize = { syn-data = \"clear\" }",
            "",
            "service.s.normalize.syn-data",
            "not a word",
        ),
        ("tcp", "normalize = { sack = \"drop\" }", "", "service.s.normalize", "packet forwarding"),
    ];
    for (forward, service, pool, key, says) in rows {
        is_reported(&file(forward, service, pool), key, says);
    }
}

#[test]
fn mistakes_in_hashing_are_reported() {
    let rows = [
        (
            "http",
            "",
            "hash-on = \"symmetric\"\nbalance = \"maglev\"",
            "pool.p.hash-on",
            "a hash of packets",
        ),
        (
            "mac",
            "",
            "hash-on = \"uri\"\nbalance = \"maglev\"",
            "pool.p.hash-on",
            "hashes addresses",
        ),
        (
            "mac",
            "sticky = \"1m\"",
            "hash-on = \"symmetric\"\nbalance = \"maglev\"",
            "service.s.sticky",
            "two directions",
        ),
    ];
    for (forward, service, pool, key, says) in rows {
        is_reported(&file(forward, service, pool), key, says);
    }
}

#[test]
fn packets_are_hashed_by_both_ends_or_by_link_addresses() {
    for (word, want) in [("symmetric", HashKey::Symmetric), ("source-mac", HashKey::SourceMac)] {
        let pool = format!("balance = \"maglev\"\nhash-on = \"{word}\"");
        for forward in ["mac", "nat", "tunnel"] {
            let checked = good(&file(forward, "", &pool));
            assert_eq!(checked.config.pools["p"].hash_on, want, "{forward}");
            assert!(checked.warnings.is_empty(), "{:?}", checked.warnings);
        }
    }
}

#[test]
fn direct_return_cannot_change_the_port() {
    for forward in ["mac", "tunnel"] {
        let text = file(forward, "", "").replace("\"10.0.0.2:80\"", "\"10.0.0.2:8080\"");
        let errors = errors(&text);
        assert_eq!(errors.len(), 1, "{errors:#?}");
        assert_eq!((errors[0].line, errors[0].key.as_str()), (8, "pool.p.servers[1].address"));
        assert!(errors[0].message.contains("cannot change the port"), "{}", errors[0].message);
        assert!(errors[0].to_string().contains("forward = \"nat\""), "{}", errors[0]);
    }
    good(&file("nat", "", "").replace("\"10.0.0.2:80\"", "\"10.0.0.2:8080\""));
}

#[test]
fn services_share_no_port_unless_one_is_wider() {
    let two = |first: &str, second: &str, more: &str| {
        format!(
            "[service.a]\nlisten = {first}\nforward = \"nat\"\npool = \"p\"\n\
             [service.b]\nlisten = {second}\n{more}\npool = \"p\"\n\
             [pool.p]\nservers = [\"10.0.0.1:80\"]\n"
        )
    };
    let at = "\"192.0.2.1:80-90\"";
    let nat = "forward = \"nat\"";
    let taken = |text: String| {
        errors(&text)
            .iter()
            .any(|e| e.message.contains("overlap") || e.message.contains("already taken"))
    };
    assert!(taken(two(at, "\"192.0.2.1:90,91\"", nat)));
    assert!(taken(two("\"192.0.2.1:80\"", "\"192.0.2.1:80\"", "forward = \"http\"")));
    assert!(!taken(two(at, "\"192.0.2.1:*\"", nat)));
    assert!(!taken(two(at, "\"192.0.2.2:80-90\"", nat)));
    assert!(!taken(two(at, "\"192.0.2.1:80-90\"", "forward = \"nat\"\nprotocol = \"udp\"")));
    assert!(!taken(two("\"192.0.2.1:*\"", "\"192.0.2.1:80\"", "forward = \"http\"")));
    let other = two("\"[2001:db8::1]:80\"", "\"192.0.2.1:80\"", nat);
    assert!(findings(&other).iter().any(|f| f.message.contains("does not change the family")));
    let ranges = two(at, "\"192.0.2.1:1-9\"", "forward = \"tcp\"");
    assert!(errors(&ranges).iter().any(|e| e.message.contains("belong to packet forwarding")));
}

/// A `nat` service that listens in a family needs a server of that family.
#[test]
fn nat_needs_servers_of_every_family_it_listens_in() {
    let both = "[\"203.0.113.10:80\", \"[2001:db8::10]:80\"]";
    let text = |forward: &str, listen: &str, servers: &str| {
        format!(
            "[service.s]\nlisten = {listen}\nforward = \"{forward}\"\npool = \"p\"\n\
             [pool.p]\nservers = [{servers}]\n"
        )
    };
    let v4 = "\"10.0.0.1:80\"";
    let v6 = "\"[fd00::1]:80\"";
    for (servers, missing) in [(v4, "IPv6"), (v6, "IPv4")] {
        let found = errors(&text("nat", both, servers));
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!((found[0].line, found[0].key.as_str()), (2, "service.s.listen"));
        assert!(found[0].message.contains("does not change the family"), "{}", found[0].message);
        assert!(found[0].to_string().contains(&format!("a server of {missing}")), "{}", found[0]);
    }
    good(&text("nat", both, &format!("{v4}, {v6}")));
    let short = findings(&text("nat", "\":80\"", v4));
    assert!(
        short.iter().any(|finding| finding.to_string().contains("a server of IPv6")),
        "{short:#?}"
    );
    good(&text("nat", "\":80\"", v4));
    good(&text("nat", both, "\"127.0.0.1:80\""));
    for direct in ["mac", "tunnel"] {
        good(&text(direct, both, v4));
    }
}
