//! DNS names: meanings, contradictions, loops, changes.

use std::time::Duration;

use model::config::{NameFallback, NameKey, NamePolicy, NameSource, diff};

use super::support::{BASE, errors, findings, good};

const ZONE: &str = "[names]\nlisten = \"192.0.2.53:53\"\n\
                    [zone.\"Gslb.example.org\"]\nnameservers = \"ns.example.net\"\n";

fn with(more: &str) -> String {
    format!("{BASE}{ZONE}{more}")
}

#[test]
fn nothing_written_has_the_documented_defaults() {
    let config = good(&with("[name.\"WWW.gslb.example.org\"]\npool = \"web\"\n")).config;
    let server = &config.name_server;
    assert_eq!(
        (server.threads, server.udp_size, server.rate, server.slip),
        (1, 1232, Some(500), Some(1))
    );
    assert!(server.client_subnet && server.cookies);
    let zone = &config.zones["gslb.example.org"];
    assert_eq!((zone.ttl, zone.negative_ttl), (Duration::from_secs(5), Duration::from_secs(5)));
    assert_eq!((zone.contact.as_str(), zone.nameservers[0].as_str()), ("", "ns.example.net"));
    let name = &config.names["www.gslb.example.org"];
    assert_eq!(name.source, NameSource::Pool("web".into()));
    assert_eq!((name.policy, name.answers, name.ttl), (NamePolicy::RoundRobin, 1, zone.ttl));
    assert_eq!((&name.fallback, name.zone.as_str()), (&NameFallback::All, "gslb.example.org"));
}

#[test]
fn the_longest_zone_has_a_name_and_addresses_are_named_by_their_position() {
    let text = with(
        "[zone.\"example.org\"]\nnameservers = [\"ns.example.net\"]\nttl = \"60s\"\ncontact = \"a@b.org\"\n\
         [name.\"x.gslb.example.org\"]\naddresses = [\"192.0.2.1\", { address = \"192.0.2.2\", weight = 9 }]\n\
         [name.\"gslb2.example.org\"]\naddresses = \"192.0.2.3\"\n",
    );
    let config = good(&text).config;
    assert_eq!(config.names["x.gslb.example.org"].zone, "gslb.example.org");
    assert_eq!(config.names["gslb2.example.org"].zone, "example.org");
    assert_eq!(config.names["gslb2.example.org"].ttl, Duration::from_secs(60));
    assert_eq!(config.zones["example.org"].contact, "a.b.org");
    let NameSource::Addresses(list) = &config.names["x.gslb.example.org"].source else { panic!() };
    assert_eq!((list[1].name.as_str(), list[1].weight), ("a2", 9));
}

/// More of a file, the key of the finding, and the finding.
type NameMistakeRow = (&'static str, &'static str, &'static str);

fn check_rows(rows: &[NameMistakeRow]) {
    for (more, key, says) in rows {
        let found = errors(&with(more));
        let fits = |finding: &model::config::ConfigFinding| {
            finding.key.starts_with(key) && finding.message.contains(says)
        };
        assert!(found.iter().any(fits), "{more}\n{found:#?}");
    }
}

#[test]
fn what_lies_outside_stands_twice_or_loops_is_named() {
    check_rows(&[
        (
            "[name.\"www.example.com\"]\npool = \"web\"\n",
            "name.\"www.example.com\"",
            "no zone of ours",
        ),
        (
            "[name.\"a.gslb.example.org\"]\npool = \"wbe\"\n",
            "name.\"a.gslb.example.org\".pool",
            "no pool `wbe`",
        ),
        (
            "[name.\"a.gslb.example.org\"]\nservices = \"x\"\n",
            "name.\"a.gslb.example.org\".services",
            "no service `x`",
        ),
        (
            "[name.\"a.gslb.example.org\"]\n",
            "name.\"a.gslb.example.org\"",
            "something to stand for",
        ),
        (
            "[name.\"a.gslb.example.org\"]\npool = \"web\"\n[name.\"A.gslb.example.org\"]\npool = \"web\"\n",
            "name.\"",
            "the same name already",
        ),
        (
            "[name.\"a.gslb.example.org\"]\ncname = \"b.gslb.example.org\"\n\
             [name.\"b.gslb.example.org\"]\ncname = \"A.gslb.example.org.\"\n",
            "name.\"a.gslb.example.org\".cname",
            "the name loops: a.gslb.example.org → b.gslb.example.org → a.gslb.example.org",
        ),
        (
            "[name.\"a.gslb.example.org\"]\npool = \"self\"\n\
             [pool.self]\nservers = [\"a.gslb.example.org:80\"]\n",
            "name.\"a.gslb.example.org\".pool",
            "which only this answer resolves",
        ),
        (
            "[name.\"gslb.example.org\"]\ncname = \"x.org\"\n",
            "name.\"gslb.example.org\".cname",
            "cannot be an alias",
        ),
    ]);
}

#[test]
fn contradictions_are_named() {
    check_rows(&[
        (
            "[name.\"a.gslb.example.org\"]\npool = \"web\"\npolicy = \"nearest\"\n",
            "name.\"a.gslb.example.org\".policy",
            "needs regions",
        ),
        (
            "[name.\"a.gslb.example.org\"]\naddresses = \"192.0.2.1\"\npolicy = \"nearest\"\n\
             near = [{ client = \"10.0.0.0/8\", prefer = \"b1\" }]\n",
            "name.\"a.gslb.example.org\".near[0].prefer",
            "not among",
        ),
        (
            "[name.\"a.gslb.example.org\"]\naddresses = \"192.0.2.1\"\nsrv = \"_http._tcp\"\n",
            "name.\"a.gslb.example.org\".srv",
            "no port",
        ),
        (
            "[name.\"a.gslb.example.org\"]\npool = \"web\"\nsrv = \"http\"\n",
            "name.\"a.gslb.example.org\".srv",
            "does not name a service",
        ),
        (
            "[name.\"a.gslb.example.org\"]\npool = \"web\"\nttl = \"1500ms\"\n",
            "name.\"a.gslb.example.org\".ttl",
            "whole seconds",
        ),
        (
            "[name.\"a.gslb.example.org\"]\npool = \"web\"\nmask4 = 8\n",
            "name.\"a.gslb.example.org\".mask4",
            "sticky",
        ),
        (
            "[name.\"a.gslb.example.org\"]\npool = \"web\"\nfallback = \"all\"\nlast-resort = \"192.0.2.1\"\n",
            "name.\"a.gslb.example.org\".fallback",
            "exclude each other",
        ),
        (
            "[zone.\"b.org\"]\nnameservers = \"ns.gslb.example.org\"\n",
            "zone.\"b.org\".nameservers",
            "has no address there",
        ),
        ("[zone.\"b.org\"]\n", "zone.\"b.org\".nameservers", "needs `nameservers`"),
        (
            "[zone.\"b.org\"]\nnameservers = \"ns.b.net\"\ncontact = \"nobody\"\n",
            "zone.\"b.org\".contact",
            "not a mail address",
        ),
        (
            "[zone.\"b..org\"]\nnameservers = \"ns.b.net\"\n",
            "zone.\"b..org\"",
            "not a text that fits",
        ),
    ]);
}

#[test]
fn an_answer_comes_from_the_queried_address() {
    let text = with("").replace("192.0.2.53:53", ":53");
    assert!(errors(&text)[0].message.contains("every address"));
    let unserved = with("").replace("listen = \"192.0.2.53:53\"\n", "");
    let found = findings(&unserved);
    assert!(found.iter().any(|finding| finding.message.contains("nobody answers")), "{found:#?}");
}

#[test]
fn a_pool_may_be_there_for_a_name_alone() {
    let text = "[names]\nlisten = \"192.0.2.53:53\"\n[zone.\"b.org\"]\nnameservers = \"ns.b.net\"\n\
                [name.\"www.b.org\"]\npool = \"sites\"\n[pool.sites]\nservers = [\"10.0.0.1:80\"]\n";
    assert_eq!(good(text).warnings, []);
}

#[test]
fn changes_are_named_by_name_and_key() {
    let name = "[name.\"a.gslb.example.org\"]\npool = \"web\"\n";
    let old = good(&with(name)).config;
    let new = good(&with(&format!("{name}ttl = \"9s\"\n"))).config;
    let changes = diff(&old, &new);
    assert_eq!(changes.names.changed["a.gslb.example.org"], [NameKey::Ttl]);
    assert!(changes.zones.is_empty() && !changes.is_empty());
    assert_eq!(changes.to_string(), "~ name a.gslb.example.org: ttl\n");
    assert_eq!(diff(&old, &good(&with("")).config).names.removed, ["a.gslb.example.org"]);
}
