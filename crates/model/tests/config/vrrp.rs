//! Shared addresses: meanings, contradictions, changes.

use std::time::Duration;

use model::config::{SocketOptions, VrrpKey, diff};

use super::support::{BASE, errors, good};

const GROUP: &str = "[vrrp.a]\ninterface = \"eth0\"\nid = 1\naddresses = \"192.0.2.10\"\n";

fn with(more: &str) -> String {
    format!("{BASE}{GROUP}{more}")
}

#[test]
fn nothing_written_has_the_documented_defaults() {
    let config = good(&with("")).config;
    let group = &config.vrrp["a"];
    assert_eq!((group.version, group.priority, group.preempt), (3, 100, true));
    assert_eq!(group.advertise, Duration::from_secs(1));
    assert_eq!(group.fencing_timeout, Some(Duration::from_millis(2500)));
    assert_eq!((group.peers.len(), group.allow.len(), group.source), (0, 0, None));
    let quick = good(&with("advertise = \"100ms\"\n")).config;
    assert_eq!(quick.vrrp["a"].fencing_timeout, Some(Duration::from_millis(250)));
    assert_eq!(good(&with("fencing-timeout = \"off\"\n")).config.vrrp["a"].fencing_timeout, None);
}

#[test]
fn the_virtual_router_has_a_link_address_of_each_family() {
    let link = |more: &str, group: &str| good(&with(more)).config.vrrp[group].virtual_mac();
    assert_eq!(link("", "a"), None);
    let wanted = "link-address = \"virtual\"\n";
    assert_eq!(link(wanted, "a"), Some([0, 0, 0x5e, 0, 1, 1]));
    let six = "[vrrp.b]\ninterface = \"eth0\"\nid = 200\naddresses = \"fd00::1\"\n";
    assert_eq!(link(&format!("{six}{wanted}"), "b"), Some([0, 0, 0x5e, 0, 2, 200]));
}

#[test]
fn who_is_heard() {
    let heard = |more: &str, ip: &str| {
        good(&with(more)).config.vrrp["a"].accepts_source(ip.parse().unwrap())
    };
    assert!(heard("", "192.0.2.7"));
    let peers = "peers = \"192.0.2.2\"\n";
    assert!(heard(peers, "192.0.2.2") && !heard(peers, "192.0.2.3"));
    let allow = "allow = \"192.0.2.0/29\"\n";
    assert!(heard(allow, "192.0.2.7") && !heard(allow, "192.0.2.8"));
}

#[test]
fn contradictions_are_named() {
    let rows = [
        ("advertise = \"15ms\"\n", "vrrp.a.advertise", "cannot be written"),
        ("version = 2\nadvertise = \"500ms\"\n", "vrrp.a.advertise", "cannot be written"),
        ("fencing-timeout = \"3s\"\n", "vrrp.a.fencing-timeout", "we would still answer"),
        ("fencing-timeout = \"1500ms\"\n", "vrrp.a.fencing-timeout", "one late advertisement"),
        ("peers = \"2001:db8::1\"\n", "vrrp.a.peers", "not of the family"),
        ("source = [\"192.0.2.1\", \"192.0.2.2\"]\n", "vrrp.a.source", "one source"),
        ("preempt = false\npreempt-delay = \"1s\"\n", "vrrp.a.preempt-delay", "nothing is taken"),
        ("priority = 0\n", "vrrp.a.priority", ""),
        (
            "link-address = \"virtual\"\npriority = 255\n",
            "vrrp.a.link-address",
            "the interface's own",
        ),
        (
            "link-address = \"virtual\"\npeers = \"192.0.2.2\"\n",
            "vrrp.a.link-address",
            "do not show switches",
        ),
        ("link-address = \"mine\"\n", "vrrp.a.link-address", ""),
        (
            "[vrrp.b]\ninterface = \"eth0\"\nid = 1\naddresses = \"192.0.2.11\"\n",
            "vrrp.b.id",
            "is group `a` already",
        ),
        (
            "[vrrp.b]\ninterface = \"eth0\"\nid = 2\naddresses = \"192.0.2.10\"\n",
            "vrrp.b.addresses",
            "shared by `a` already",
        ),
        (
            "[vrrp.b]\ninterface = \"eth0\"\nid = 2\naddresses = \"fd00::1\"\nversion = 2\n",
            "vrrp.b.version",
            "no IPv6",
        ),
        ("[vrrp.b]\ninterface = \"eth0\"\nid = 2\n", "vrrp.b.addresses", "needs `addresses`"),
        (
            "[vrrp.b]\ninterface = \"eth0\"\nid = 2\naddresses = \"127.0.0.9\"\n",
            "vrrp.b.addresses",
            "cannot be shared",
        ),
    ];
    for (text, key, says) in rows {
        let found = errors(&with(text));
        let named = found.iter().any(|one| one.key == key && one.message.contains(says));
        assert!(named && found.len() == 1, "{text}: {found:#?}");
    }
}

#[test]
fn one_number_serves_both_families_and_changes_are_named() {
    let six = "[vrrp.b]\ninterface = \"eth0\"\nid = 1\naddresses = \"fd00::1\"\n";
    let old = good(&with(six)).config;
    let new = good(&with(&format!("priority = 7\n{six}"))).config;
    let changes = diff(&old, &new);
    assert_eq!(changes.vrrp.changed["a"], [VrrpKey::Priority]);
    assert!(!changes.vrrp.changed.contains_key("b"));
    assert_eq!(changes.to_string(), "~ vrrp a: priority\n");
    assert_eq!(diff(&old, &good(&with("")).config).vrrp.removed, ["b"]);
}

#[test]
fn a_service_listens_at_a_shared_address_wherever_that_is() {
    let shared = |text: &str| {
        let config = good(text).config;
        config.services.values().any(|service| service.socket.shared)
    };
    assert!(!shared(&with("")));
    let own = "[service.own]\nlisten = \"192.0.2.10:81\"\nforward = \"http\"\npool = \"web\"\n";
    assert!(shared(&format!("{own}{}", with(""))));
    assert!(!SocketOptions::default().shared);
}

#[test]
fn what_moves_with_a_group_is_its_own_and_return_addresses_have_to() {
    let also = "unadvertised = [{ addresses = \"10.0.0.9\", interface = \"eth1\" }, { addresses = \"fd00::9\" }]\n";
    let config = good(&with(also)).config;
    let moves: Vec<(String, &str)> =
        config.vrrp["a"].floating_addresses().map(|(ip, at)| (ip.to_string(), at)).collect();
    let all = [("192.0.2.10", "eth0"), ("10.0.0.9", "eth1"), ("fd00::9", "eth0")];
    assert_eq!(moves, all.map(|(ip, at)| (ip.to_owned(), at)));
    let rows = [
        ("unadvertised = [{ addresses = \"192.0.2.10\" }]\n", "is shared by `a` already"),
        ("unadvertised = [{ addresses = \"127.0.0.1\" }]\n", "cannot be shared"),
    ];
    for (text, says) in rows {
        let found = errors(&with(text));
        assert!(found.len() == 1 && found[0].message.contains(says), "{text}: {found:#?}");
        assert_eq!(found[0].key, "vrrp.a.unadvertised");
    }
    let nat = "[service.n]\nlisten = \"192.0.2.10:81\"\nforward = \"nat\"\npool = \"n\"\n\
               [pool.n]\nsource = \"10.0.0.9\"\nservers = [\"10.0.0.1:80\"]\n";
    let other = "[vrrp.b]\ninterface = \"eth1\"\nid = 2\naddresses = \"10.0.0.9\"\n";
    for (more, says) in [
        (nat.to_owned(), Some("stays on its machine")),
        (format!("{nat}{other}"), Some("10.0.0.9 moves with group `b`")),
        (format!("unadvertised = [{{ addresses = \"10.0.0.9\" }}]\n{nat}"), None),
        (nat.replace("\"10.0.0.9\"", "\"client\""), None),
    ] {
        let checked = good(&with(&more));
        let found: Vec<&str> = checked
            .warnings
            .iter()
            .filter(|one| one.key == "pool.n.source")
            .map(|one| one.message.as_str())
            .collect();
        assert_eq!(found.len(), usize::from(says.is_some()), "{more}: {found:?}");
        assert!(says.is_none_or(|says| found[0].contains(says)), "{found:?}");
    }
}
