//! Keys of health checks that search a directory: their values in the program, and mistakes with their messages.

use model::config::{LdapScope, NumberRange, ProbeKind, Severity};

use super::support::{findings, good};

fn text(probe: &str) -> String {
    format!(
        "[service.s]\nlisten = \":9\"\nforward = \"tcp\"\npool = \"p\"\ntimeout.tunnel = \"2h\"\n\
         [pool.p]\nservers = [\"192.0.2.1:389\"]\nprobe = {{ {probe} }}\n"
    )
}

// Rows: I16
#[test]
fn a_search_has_its_keys_and_defaults() {
    let search = |probe: &str| {
        let config = good(&text(probe)).config;
        match &config.pools["p"].probe.as_ref().unwrap().kind {
            ProbeKind::Ldap { search, .. } => search.clone(),
            other => panic!("{}", other.name()),
        }
    };
    assert_eq!(search("ldap = true"), None);
    let plain = search("ldap = true, base = \"\"").unwrap();
    assert_eq!(
        (plain.scope, plain.filter.to_string()),
        (LdapScope::Base, "(objectClass=*)".into())
    );
    assert_eq!(plain.entries, NumberRange { min: 1, max: u64::MAX });
    let own = "ldap = true, base = \"dc=x\", scope = \"sub\", filter = \"(a=b)\", entries = \"0-3\", attribute = \"a\", expect = \"^b\"";
    let own = search(own).unwrap();
    assert_eq!((own.base.as_str(), own.scope), ("dc=x", LdapScope::Sub));
    assert_eq!(own.entries, NumberRange { min: 0, max: 3 });
    assert_eq!(own.attribute.as_deref(), Some("a"));
    assert!(own.expect.is_some());
}

// Rows: I16
#[test]
fn mistakes_of_a_search_are_named() {
    for (probe, key, says) in [
        ("ldap = true, filter = \"(a=b)\"", "filter", "none is made without `base`"),
        ("ldap = true, expect = \"x\"", "expect", "none is made without `base`"),
        ("ldap = true, base = \"dc=x\", filter = \"a=b\"", "filter", "expected `(`"),
        ("ldap = true, base = \"dc=x\", expect = \"x\"", "expect", "values of an attribute"),
        ("ldap = true, base = \"dc=x\", entries = \"1001\"", "entries", "1000 entries at most"),
        (
            "ldap = true, base = \"dc=x\", entries = \"0\", attribute = \"a\"",
            "attribute",
            "no entry has it",
        ),
        ("ldap = true, base = \"dc=x\", scope = \"tree\"", "scope", ""),
        ("redis = true, base = \"dc=x\"", "base", "means nothing for a probe `redis`"),
    ] {
        let found = findings(&text(probe));
        let path = format!("pool.p.probe.{key}");
        let named = found
            .iter()
            .any(|f| f.severity == Severity::Error && f.key == path && f.message.contains(says));
        assert!(named, "{probe}: {found:#?}");
    }
}
