//! The heartbeat: meanings, contradictions, changes.

use std::time::Duration;

use model::config::{HeartbeatKey, WitnessProtocol, WitnessUrl, diff};

use super::support::{BASE, errors, findings, good};

const GROUP: &str =
    "[vrrp.a]\ninterface = \"eth0\"\nid = 1\naddresses = \"192.0.2.10\"\nadvertise = \"200ms\"\n";
const PATH: &str = "{ local = \"192.0.2.1\", peer = \"192.0.2.2\" }";

fn with(paths: &str, more: &str) -> String {
    format!(
        "{BASE}{GROUP}[heartbeat.right]\nname = \"left\"\nsecret = \"/etc/k\"\npaths = [{paths}]\n{more}"
    )
}

#[test]
fn nothing_written_follows_the_groups() {
    let config = good(&with(PATH, "")).config;
    let beat = &config.heartbeats["right"];
    assert_eq!((beat.peer.as_str(), beat.name.as_str(), beat.port), ("right", "left", 7_694));
    let ms = Duration::from_millis;
    assert_eq!((beat.every, beat.timeout), (ms(200), ms(600)));
    assert!(beat.reach.is_none() && beat.paths[0].interface.is_none());
    let slow = good(&with(PATH, "interval = \"50ms\"\n")).config;
    assert_eq!(slow.heartbeats["right"].timeout, ms(150));
}

#[test]
fn targets_are_written_short_or_long() {
    let short = good(&with(PATH, "reach = [\"192.0.2.254\", \"192.0.2.253\"]\n")).config;
    let reach = short.heartbeats["right"].reach.clone().unwrap();
    assert_eq!((reach.echo.len(), reach.connect.len(), reach.rise, reach.fall), (2, 0, 2, 3));
    let long = "reach = { connect = \"192.0.2.53:53\", hold-time = \"0s\" }\n";
    let reach = good(&with(PATH, long)).config.heartbeats["right"].reach.clone().unwrap();
    assert_eq!((reach.connect.len(), reach.settle), (1, Duration::ZERO));
}

#[test]
fn contradictions_are_named() {
    let path = |local: &str, peer: &str| format!("{{ local = \"{local}\", peer = \"{peer}\" }}");
    let twice = format!("{PATH}, {PATH}");
    let rows = [
        ("", "", "heartbeat.right.paths", "so many paths"),
        (&twice, "", "heartbeat.right.paths[1]", "stands here twice"),
        (&path("192.0.2.1", "192.0.2.1"), "", "heartbeat.right.paths[0].peer", "same address"),
        (&path("192.0.2.1", "fd00::1"), "", "heartbeat.right.paths[0].peer", "different families"),
        (&path("fe80::1", "fe80::2"), "", "heartbeat.right.paths[0].peer", "with its interface"),
        (&path("127.0.0.2", "192.0.2.2"), "", "heartbeat.right.paths[0].local", "of no machine"),
        (&path("192.0.2.10", "192.0.2.2"), "", "heartbeat.right.paths[0].local", "is shared"),
        ("{ local = \"192.0.2.1\" }", "", "heartbeat.right.paths[0].peer", "needs `peer`"),
        (PATH, "timeout = \"300ms\"\n", "heartbeat.right.timeout", "one late beat"),
        (PATH, "reach = { hold-time = \"1s\" }\n", "heartbeat.right.reach", "so many targets"),
        (PATH, "reach = \"192.0.2.10\"\n", "heartbeat.right.reach.echo", "is shared"),
        (PATH, "reach = \"127.0.0.1\"\n", "heartbeat.right.reach.echo", "is no target"),
        (
            PATH,
            "reach = { connect = \"192.0.2.9:0\" }\n",
            "heartbeat.right.reach.connect",
            "port 0",
        ),
        (
            PATH,
            "reach = { connect = \"192.0.2.9:1-9\" }\n",
            "heartbeat.right.reach.connect",
            "has one port",
        ),
        (PATH, "[heartbeat.third]\nname = \"left\"\n", "heartbeat", ""),
    ];
    for (paths, more, key, says) in rows {
        let found = errors(&with(paths, more));
        let named = found.iter().any(|one| one.key.starts_with(key) && one.message.contains(says));
        assert!(named, "{paths} {more}: {found:#?}");
    }
    let other = "[vrrp.b]\ninterface = \"eth1\"\nid = 1\naddresses = \"198.51.100.1\"\n";
    let found = errors(&with(PATH, other));
    assert!(found.len() == 1 && found[0].key == "vrrp.b.id", "{found:#?}");
    assert!(found[0].message.contains("cannot tell this group from `a`"), "{found:#?}");
    let six = other.replace("198.51.100.1", "fd00::1");
    assert!(errors(&with(PATH, &six)).is_empty());
    let same = with(PATH, "").replace("name = \"left\"", "name = \"right\"");
    assert_eq!(errors(&same)[0].message, "both members have the same name");
}

#[test]
fn what_delays_or_decides_nothing_is_warned_of() {
    let slow = findings(&with(PATH, "timeout = \"2s\"\n"));
    assert!(slow.iter().any(|one| one.message.contains("group `a` would take over")), "{slow:#?}");
    let alone = findings(&with(PATH, "").replace(GROUP, ""));
    assert!(alone.iter().any(|one| one.message.contains("decides nothing")), "{alone:#?}");
}

#[test]
fn changes_are_named() {
    let old = good(&with(PATH, "")).config;
    let new = good(&with(PATH, "reach = \"192.0.2.254\"\n")).config;
    let changes = diff(&old, &new);
    assert_eq!(changes.heartbeats.changed["right"], [HeartbeatKey::Reach]);
    assert_eq!(changes.to_string(), "~ heartbeat right: reach\n");
    assert_eq!(diff(&old, &good(&format!("{BASE}{GROUP}")).config).heartbeats.removed, ["right"]);
}

#[test]
fn a_witness_is_a_server_or_an_etcd_and_needs_groups_that_can_go_by_it() {
    let short = good(&with(PATH, "witness = \"https://192.0.2.53:9443/v1/leases/\"\n")).config;
    let witness = short.heartbeats["right"].witness.clone().unwrap();
    assert_eq!((witness.by, witness.lease), (WitnessProtocol::Http, Duration::from_secs(3)));
    let WitnessUrl { secure, host, port, path } = witness.at[0].clone();
    assert_eq!(
        (secure, host.as_str(), port, path.as_str()),
        (true, "192.0.2.53", 9_443, "/v1/leases")
    );
    let long =
        "witness = { etcd = [\"http://a:2379\", \"http://[fd00::1]:2379\"], lease = \"2s\" }\n";
    let witness = good(&with(PATH, long)).config.heartbeats["right"].witness.clone().unwrap();
    let places: Vec<String> = witness.at.iter().map(ToString::to_string).collect();
    assert_eq!(
        (witness.by, places),
        (WitnessProtocol::Etcd, vec!["http://a:2379".into(), "http://[fd00::1]:2379".into()])
    );
    let rows = [
        ("witness = {}\n", "", "heartbeat.right.witness", "one server, or one etcd"),
        (
            "witness = { http = \"http://a\", etcd = \"http://b\" }\n",
            "",
            "heartbeat.right.witness",
            "one server",
        ),
        ("witness = \"192.0.2.53\"\n", "", "heartbeat.right.witness.http", "no place to ask"),
        ("witness = \"https://a:0/\"\n", "", "heartbeat.right.witness.http", "no place to ask"),
        (
            "witness = { http = \"http://192.0.2.53/\", token = \"/t\" }\n",
            "",
            "heartbeat.right.witness.http",
            "without TLS",
        ),
        (
            "witness = { http = \"https://a\", lease = \"700ms\" }\n",
            "",
            "heartbeat.right.witness.lease",
            "in time",
        ),
        ("witness = \"https://a\"\n", "priority = 255\n", "vrrp.a.priority", "an owner"),
        (
            "witness = \"https://a\"\n",
            "fencing-timeout = \"off\"\n",
            "vrrp.a.fencing-timeout",
            "that hangs",
        ),
    ];
    for (more, of_group, place, says) in rows {
        let text = with(PATH, more)
            .replace("advertise = \"200ms\"\n", &format!("advertise = \"200ms\"\n{of_group}"));
        let found = errors(&text);
        let named = found.iter().any(|one| one.key == place && one.message.contains(says));
        assert!(named, "{more}: {found:#?}");
    }
    assert!(
        good(&with(PATH, "witness = { http = \"http://127.0.0.1/\", token = \"/t\" }\n"))
            .warnings
            .is_empty()
    );
}
