//! Patches of typical configuration texts: what changes, what stays, and what is rejected.

use serde_json::json;

use super::*;
use crate::config::load;
use crate::config::toml_tree::{diff_trees, merge_patch_between};

const TEXT: &str = r#"# Our shop.
[service.shop]
listen = "127.0.0.1:8080" # the front
forward = "http"
pool = "web"

[[service.shop.rule]]
# Programs.
name = "api"
when = { path = "/api/*" }
pool = "web"

[[service.shop.rule]]
when = { path = "/old" }
redirect = "/new"

[pool.web]
balance = "round-robin" # fair
servers = [
  # The old one.
  { name = "a", address = "10.0.0.1:80" }, # rack 1
  { name = "b", address = "10.0.0.2:80" },
  "10.0.0.3:80",
]
"#;

fn server(name: &str) -> ConfigObject {
    ConfigObject::Server { pool: "web".into(), name: name.into() }
}

fn rule(name: &str) -> ConfigObject {
    ConfigObject::Rule { service: "shop".into(), name: name.into() }
}

#[test]
fn an_object_is_patched_where_it_stands() {
    let rows = [
        (server("a"), json!({ "weight": 3 }), "10.0.0.1:80\" }", "10.0.0.1:80\", weight = 3 }"),
        (
            server("10-0-0-3-80"),
            json!({ "state": "drain" }),
            "\"10.0.0.3:80\"",
            "{ address = \"10.0.0.3:80\", state = \"drain\" }",
        ),
        (rule("api"), json!({ "when": { "path": "/v2/*" } }), "/api/*", "/v2/*"),
        (rule("2"), json!({ "redirect": "/other" }), "/new", "/other"),
        (
            ConfigObject::Pool("web".into()),
            json!({ "balance": "random" }),
            "\"round-robin\" #",
            "\"random\" #",
        ),
        (
            ConfigObject::Service("shop".into()),
            json!({ "listen": "127.0.0.1:9" }),
            "127.0.0.1:8080",
            "127.0.0.1:9",
        ),
        (
            ConfigObject::Pool("web".into()),
            json!({ "balance": null }),
            "balance = \"round-robin\" # fair\n",
            "",
        ),
        (
            ConfigObject::Root,
            json!({ "pool": { "web": { "balance": "random" } } }),
            "round-robin",
            "random",
        ),
        (ConfigObject::Root, json!({}), "", ""),
    ];
    for (object, change, from, to) in rows {
        let got = apply_patch(TEXT, &object, &change).unwrap();
        assert_eq!(got, TEXT.replacen(from, to, 1), "{object:?} {change}");
        load(&got, "x").unwrap();
    }
}

#[test]
fn objects_come_and_go_by_the_patch_of_the_whole() {
    let more = json!({
        "pool": { "new": { "servers": ["10.0.1.1:80"], "probe": { "tcp": true } } },
        "service": { "two": { "listen": "127.0.0.1:8081", "forward": "tcp", "pool": "new" } },
        "global": { "drain": "5s" },
    });
    let got = apply_patch(TEXT, &ConfigObject::Root, &more).unwrap();
    assert!(got.starts_with(TEXT.split("[pool.web]").next().unwrap()), "{got}");
    assert!(got.contains("[pool.new]") && got.contains("[service.two]"), "{got}");
    load(&got, "x").unwrap();
    let back = json!({ "pool": { "new": null }, "service": { "two": null }, "global": null });
    let back = apply_patch(&got, &ConfigObject::Root, &back).unwrap();
    assert_eq!(parse_tree(&back).unwrap(), parse_tree(TEXT).unwrap());
}

#[test]
fn a_list_keeps_comments_of_what_stays() {
    let servers = json!({ "servers": [
        { "name": "new", "address": "10.0.0.9:80" },
        { "name": "b", "address": "10.0.0.2:80", "weight": 2 },
        { "name": "a", "address": "10.0.0.1:80" },
    ] });
    let got = apply_patch(TEXT, &ConfigObject::Pool("web".into()), &servers).unwrap();
    assert_eq!(
        read_object(&got, &ConfigObject::Pool("web".into())).unwrap()["servers"],
        servers["servers"]
    );
    assert!(got.contains("# The old one.\n  { name = \"a\""), "{got}");
    assert!(got.contains("# rack 1") && got.contains("weight = 2"), "{got}");
    load(&got, "x").unwrap();
}

/// An empty list of tables has no header that would show that the list exists.
#[test]
fn a_list_without_elements_is_still_a_list() {
    let none = json!({ "service": { "shop": { "rule": [] } } });
    let got = apply_patch(TEXT, &ConfigObject::Root, &none).unwrap();
    assert_eq!(parse_tree(&got).unwrap()["service"]["shop"]["rule"], json!([]), "{got}");
    load(&got, "x").unwrap();
    let back =
        json!({ "service": { "shop": { "rule": [{ "when": { "path": "/x" }, "pool": "web" }] } } });
    let back = apply_patch(&got, &ConfigObject::Root, &back).unwrap();
    assert_eq!(parse_tree(&back).unwrap()["service"]["shop"]["rule"][0]["pool"], "web", "{back}");
    load(&back, "x").unwrap();
}

#[test]
fn an_object_without_keys_is_there() {
    for keys in [json!({ "global": {} }), json!({ "global": { "limit": {} } })] {
        let got = apply_patch(TEXT, &ConfigObject::Root, &keys).unwrap();
        assert_eq!(parse_tree(&got).unwrap()["global"], keys["global"], "{got}");
    }
}

#[test]
fn what_is_not_there_or_cannot_be_written_is_reported() {
    let no = |object: &ConfigObject, change: serde_json::Value| {
        apply_patch(TEXT, object, &change).unwrap_err()
    };
    let some = json!({ "weight": 1 });
    assert!(no(&server("z"), some.clone()).to_string().contains("there are a, b, 10-0-0-3-80"));
    assert!(no(&rule("9"), some.clone()).to_string().ends_with("there are api, 2"));
    assert!(matches!(no(&ConfigObject::Pool("x".into()), some), PatchError::Unknown { .. }));
    assert!(matches!(no(&server("a"), json!([1])), PatchError::Form("a list")));
    let pool = ConfigObject::Pool("web".into());
    for bad in [json!({ "servers": [null] }), json!({ "a": { "b": u64::MAX } })] {
        assert!(matches!(no(&pool, bad), PatchError::Value { .. }));
    }
    assert!(matches!(
        apply_patch("[a", &ConfigObject::Root, &json!({})),
        Err(PatchError::Syntax(_))
    ));
}

#[test]
fn any_change_between_two_texts_can_be_written_as_a_patch() {
    let other = TEXT
        .replace("10.0.0.2:80\"", "10.0.0.2:81\", weight = 7")
        .replace("  \"10.0.0.3:80\",\n", "")
        .replace("round-robin", "random")
        .replace("[[service.shop.rule]]\nwhen = { path = \"/old\" }\nredirect = \"/new\"\n", "");
    for (from, to) in [(TEXT, other.as_str()), (other.as_str(), TEXT)] {
        let old = parse_tree(from).unwrap();
        let new = parse_tree(to).unwrap();
        assert!(diff_trees(&old, &new).len() > 2);
        let got = apply_patch(from, &ConfigObject::Root, &merge_patch_between(&old, &new)).unwrap();
        assert_eq!(parse_tree(&got).unwrap(), new, "{got}");
        assert!(got.contains("# Our shop.") && got.contains("# rack 1"), "{got}");
    }
}

#[test]
fn a_key_under_an_earlier_name_is_patched_and_has_its_name_of_now() {
    let text = "[pool.web]\nservers = [{ name = \"a\", address = \"h:1\", probe = { doubt = \"1s\" } }]\nprobe = { tcp = true, doubt = \"100ms\" } # often\n";
    let pool = ConfigObject::Pool("web".to_owned());
    let patch = json!({ "probe": { "fast-interval": "50ms" } });
    let patched = apply_patch(text, &pool, &patch).unwrap();
    assert!(patched.contains("fast-interval = \"50ms\""), "{patched}");
    assert_eq!(patched.matches("doubt").count(), 1, "the server's own: {patched}");
    let removed = apply_patch(text, &pool, &json!({ "probe": { "fast-interval": null } })).unwrap();
    assert!(!removed.contains("100ms"), "{removed}");
    let server = ConfigObject::Server { pool: "web".to_owned(), name: "a".to_owned() };
    let patched = apply_patch(text, &server, &patch).unwrap();
    assert_eq!(patched.matches("doubt").count(), 1, "the pool's: {patched}");
    assert!(patched.contains("fast-interval = \"50ms\""), "{patched}");
}
