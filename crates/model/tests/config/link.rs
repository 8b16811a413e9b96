//! Bundles of links: meanings, contradictions, changes.

use std::time::Duration;

use model::config::{LinkKey, LinkPolicy, diff};

use super::support::{BASE, errors, good};

const LINKS: &str = "links = [{ interface = \"eth1\", via = \"10.41.1.2\" }, \
                     { interface = \"eth2\", via = [\"10.41.2.2\", \"fd41::2\"] }]\n";

fn with(more: &str) -> String {
    format!("{BASE}[link.up]\n{LINKS}{more}")
}

#[test]
fn nothing_written_has_the_documented_defaults() {
    let config = good(&with("")).config;
    let bundle = &config.links["up"];
    assert_eq!((bundle.policy, bundle.gap, bundle.equalise), (LinkPolicy::Hash, None, false));
    assert_eq!(bundle.links.len(), 2);
    assert_eq!((bundle.links[1].via.len(), bundle.links[1].capacity), (2, None));
    let probe = bundle.probe.as_ref().unwrap();
    assert_eq!(
        (probe.every, probe.timeout),
        (Duration::from_millis(100), Duration::from_millis(300))
    );
    assert_eq!((probe.rise, probe.fall), (2, 3));
    assert_eq!(good(&with("probe = \"off\"\n")).config.links["up"].probe, None);
    let spread = good(&with("policy = \"round-robin\"\n")).config;
    assert_eq!(
        (spread.links["up"].policy, spread.links["up"].equalise),
        (LinkPolicy::RoundRobin, true)
    );
    assert_eq!(spread.links["up"].burst, 16);
}

#[test]
fn links_may_be_next_hops_alone() {
    let config = good(&format!("{BASE}[link.up]\nlinks = [\"10.41.1.2\", \"fd41::2\"]\n")).config;
    let links = &config.links["up"].links;
    assert!(links.iter().all(|link| link.interface.is_none() && link.via.len() == 1));
    let bundle = |links: &str| format!("{BASE}[link.up]\nlinks = [{links}]\n");
    let rows = [
        (
            bundle("\"10.0.0.1\", \"10.0.0.1\""),
            "link.up.links[1].via",
            "10.0.0.1 is the next hop of another link",
        ),
        (
            bundle("\"10.0.0.1\", \"fe80::1\""),
            "link.up.links[1].via",
            "fe80::1 is reached by every interface",
        ),
        (
            bundle("\"10.0.0.1\", \"10.0.1.1\"") + "[mptcp]\nbundle = \"up\"\n",
            "mptcp.bundle",
            "a link of the bundle names no interface",
        ),
    ];
    check_rows(&rows);
}

#[test]
fn contradictions_are_named() {
    let other = |links: &str| with(&format!("[link.z]\nlinks = [{links}]\n"));
    let bundle = |links: &str| format!("{BASE}[link.up]\nlinks = [{links}]\n");
    let rows = [
        (
            bundle("{ interface = \"eth1\", via = \"10.0.0.1\" }"),
            "link.up.links",
            "one link is no bundle",
        ),
        (
            bundle(
                "{ interface = \"eth1\", via = \"10.0.0.1\" }, { interface = \"eth1\", via = \"10.0.1.1\" }",
            ),
            "link.up.links[1].interface",
            "is a link of `up` already",
        ),
        (
            other(
                "{ interface = \"eth2\", via = \"10.0.0.1\" }, { interface = \"eth3\", via = \"10.0.1.1\" }",
            ),
            "link.z.links[0].interface",
            "eth2 is a link of `up` already",
        ),
        (
            other(
                "{ interface = \"up\", via = \"10.0.0.1\" }, { interface = \"eth3\", via = \"10.0.1.1\" }",
            ),
            "link.z.links[0].interface",
            "up is a bundle",
        ),
        (
            bundle("{ interface = \"eth1\" }, { interface = \"eth2\", via = \"10.0.1.1\" }"),
            "link.up.links[0].via",
            "needs `via`",
        ),
        (
            bundle(
                "{ interface = \"a\", via = [\"10.0.0.1\", \"10.0.0.2\"] }, { interface = \"b\", via = \"10.0.1.1\" }",
            ),
            "link.up.links[0].via",
            "one far end",
        ),
        (
            bundle(
                "{ interface = \"a\", via = \"127.0.0.1\" }, { interface = \"b\", via = \"10.0.1.1\" }",
            ),
            "link.up.links[0].via",
            "cannot be a next hop",
        ),
        (
            bundle(
                "{ interface = \"a\", via = \"10.0.0.1\", capacity = \"1Gbit/s\" }, { interface = \"b\", via = \"10.0.1.1\" }",
            ),
            "link.up.links",
            "some have none",
        ),
    ];
    check_rows(&rows);
}

#[test]
fn what_two_bundles_share_and_keys_without_meaning_are_named() {
    let rows = [
        (with("gap = \"5ms\"\n"), "link.up.gap", "means nothing with `hash`"),
        (with("policy = \"flowlet\"\nequalise = true\n"), "link.up.equalise", "means nothing"),
        (with("burst = 8\n"), "link.up.burst", "means nothing with `hash`"),
        (format!("{BASE}[link.up]\n"), "link.up.links", "needs `links`"),
        (
            format!("{BASE}[link.a-very-long-name]\n{LINKS}"),
            "link.a-very-long-name",
            "too long for Linux",
        ),
        (
            with(
                "addresses = \"10.5.0.1\"\n[link.z]\naddresses = \"10.5.0.1\"\nlinks = [{ interface = \"eth3\", \
                 via = \"10.0.0.1\" }, { interface = \"eth4\", via = \"10.0.1.1\" }]\n",
            ),
            "link.z.addresses",
            "bundle `up` has 10.5.0.1 already",
        ),
        (
            with(
                "routes = \"10.5.0.0/24\"\n[link.z]\nroutes = \"10.5.0.0/24\"\nlinks = [{ interface = \"eth3\", \
                 via = \"10.0.0.1\" }, { interface = \"eth4\", via = \"10.0.1.1\" }]\n",
            ),
            "link.z.routes",
            "goes over bundle `up` already",
        ),
    ];
    check_rows(&rows);
}

fn check_rows(rows: &[(String, &str, &str)]) {
    for (text, key, says) in rows {
        let found = errors(text);
        let named = found.iter().any(|one| one.key == *key && one.message.contains(*says));
        assert!(named && found.len() == 1, "{text}: {found:#?}");
    }
}

#[test]
fn changes_are_named() {
    let old = good(&with("")).config;
    let new = good(&with("policy = \"flowlet\"\n")).config;
    let changes = diff(&old, &new);
    assert_eq!(changes.links.changed["up"], [LinkKey::Policy]);
    assert_eq!(changes.to_string(), "~ link up: policy\n");
    let spread = |more: &str| good(&with(&format!("policy = \"round-robin\"\n{more}"))).config;
    assert_eq!(diff(&spread(""), &spread("burst = 1\n")).links.changed["up"], [LinkKey::Burst]);
    assert_eq!(diff(&old, &good(BASE).config).links.removed, ["up"]);
}
