//! Which connections and exchanges a change would touch, in sentences; and from what to what keys would change. It
//! counts what is open now: when the change is made others may be.

use std::collections::BTreeMap;
use std::fmt::Display;

use api::types::{Changed, Changes, KeyChange, PoolChanged, PoolChanges};
use model::config::ConfigDiff;
use model::snapshot::{PoolView, ServiceView};
use serde_json::Value;

use crate::state::StateSnapshot;

/// Characters of a value that is shown.
const VALUE: usize = 120;

/// Describes the effect of a change on open connections.
pub(super) fn describe_impact(snapshot: &StateSnapshot, diff: &ConfigDiff) -> Vec<String> {
    let mut out = Vec::new();
    for name in &diff.services.removed {
        let Some(view) = service(snapshot, name) else { continue };
        let open = view.stats.open_connections.get();
        let under_way = view.stats.in_flight.get();
        out.push(format!(
            "service {name} is removed: {} and {} finish first",
            count_text(u64::from(open), "connection"),
            count_text(u64::from(under_way), "exchange")
        ));
    }
    for name in diff.services.changed.keys() {
        let Some(view) = service(snapshot, name) else { continue };
        let open = count_text(u64::from(view.stats.open_connections.get()), "connection");
        out.push(format!(
            "service {name} changes: {open} stay open, their next requests use the new settings"
        ));
    }
    for name in &diff.pools.removed {
        let Some(view) = pool(snapshot, name) else { continue };
        let under_way = view.servers.iter().map(|server| u64::from(server.stats.in_flight.get()));
        let under_way = count_text(under_way.sum(), "exchange");
        out.push(format!("pool {name} is removed: {under_way} at its servers finish first"));
    }
    for (name, change) in &diff.pools.changed {
        let Some(view) = pool(snapshot, name) else { continue };
        for removed in &change.servers.removed {
            let server = view.servers.iter().find(|server| server.config.name == *removed);
            let under_way = server.map_or(0, |server| u64::from(server.stats.in_flight.get()));
            let under_way = count_text(under_way, "exchange");
            out.push(format!("server {name}/{removed} is removed: {under_way} at it finish first"));
        }
    }
    out
}

/// Keys of an object that differ, with their written values in both trees.
pub(super) fn changed_keys(
    keys: &[impl Display],
    old: Option<&Value>,
    new: Option<&Value>,
) -> Vec<KeyChange> {
    let describe_key = |key: String| {
        let from = written_value(old, &key);
        let to = written_value(new, &key);
        // Equal texts differ by a value that they inherit.
        let (from, to) = if from == to { (None, None) } else { (from, to) };
        KeyChange { key, from, to }
    };
    keys.iter().map(|key| describe_key(key.to_string())).collect()
}

/// Objects of one kind that differ.
pub(super) fn changed_objects<K: Display>(
    of: &model::config::ObjectChanges<Vec<K>>,
    old: impl Fn(&str) -> Option<Value>,
    new: impl Fn(&str) -> Option<Value>,
) -> Changes {
    let changed = of.changed.iter().map(|(name, differ)| Changed {
        name: name.clone(),
        keys: changed_keys(differ, old(name).as_ref(), new(name).as_ref()),
    });
    Changes { added: of.added.clone(), removed: of.removed.clone(), changed: changed.collect() }
}

/// Pools that differ, with their servers.
pub(super) fn changed_pools(diff: &ConfigDiff, old: &Value, new: &Value) -> PoolChanges {
    let changed = diff.pools.changed.iter().map(|(name, change)| {
        let old = object_at(old, "pool", name);
        let new = object_at(new, "pool", name);
        PoolChanged {
            name: name.clone(),
            keys: changed_keys(&change.keys, old.as_ref(), new.as_ref()),
            servers: changed_objects(
                &change.servers,
                |server| find_named(old.as_ref(), server),
                |server| find_named(new.as_ref(), server),
            ),
        }
    });
    let added = diff.pools.added.clone();
    let removed = diff.pools.removed.clone();
    PoolChanges { added, removed, changed: changed.collect() }
}

/// Tables of one part that differ.
pub(super) fn changed_tables(diff: &ConfigDiff, old: &Value, new: &Value) -> Vec<Changed> {
    let part = |name: &str, differ: Vec<String>| Changed {
        name: name.to_owned(),
        keys: changed_keys(&differ, old.get(name), new.get(name)),
    };
    let all = [
        part("packets", changed_names(&diff.packets)),
        part("mptcp", changed_names(&diff.mptcp)),
        part("uplinks", changed_names(&diff.outward)),
        part("names", changed_names(&diff.name_server)),
    ];
    all.into_iter().filter(|part| !part.keys.is_empty()).collect()
}

/// Objects of other kinds that differ.
pub(super) fn other_changes(
    diff: &ConfigDiff,
    old: &Value,
    new: &Value,
) -> BTreeMap<String, Changes> {
    fn of<K: Display>(
        kind: &str,
        of: &model::config::ObjectChanges<Vec<K>>,
        old: &Value,
        new: &Value,
    ) -> (String, Changes) {
        let all = changed_objects(
            of,
            |name| object_at(old, kind, name),
            |name| object_at(new, kind, name),
        );
        (kind.to_owned(), all)
    }
    let all = [
        of("vrrp", &diff.vrrp, old, new),
        of("heartbeat", &diff.heartbeats, old, new),
        of("auth", &diff.auths, old, new),
        of("capture", &diff.captures, old, new),
        of("link", &diff.links, old, new),
        of("uplink", &diff.uplinks, old, new),
        of("zone", &diff.zones, old, new),
        of("name", &diff.names, old, new),
    ];
    all.into_iter().filter(|(_, changes)| *changes != Changes::default()).collect()
}

fn changed_names(keys: &[impl Display]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

/// An object of a tree.
pub(super) fn object_at(tree: &Value, kind: &str, name: &str) -> Option<Value> {
    tree.get(kind)?.get(name).cloned()
}

fn find_named(pool: Option<&Value>, name: &str) -> Option<Value> {
    let all = pool?.get("servers")?.as_array()?;
    all.iter().find(|object| object.get("name").and_then(Value::as_str) == Some(name)).cloned()
}

/// The written value of a key such as `timeout.idle`; `None` if there is none.
fn written_value(object: Option<&Value>, key: &str) -> Option<String> {
    let written = key.split('.').try_fold(object?, |value, part| value.get(part))?;
    let text = match written {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let short: String = text.chars().take(VALUE).collect();
    Some(if short.len() < text.len() { short + "…" } else { short })
}

fn service<'p>(snapshot: &'p StateSnapshot, name: &str) -> Option<&'p ServiceView> {
    let mut all = snapshot.snapshot.services.values();
    all.find(|view| view.config.name == name).map(AsRef::as_ref)
}

fn pool<'p>(snapshot: &'p StateSnapshot, name: &str) -> Option<&'p PoolView> {
    let mut all = snapshot.snapshot.pools.values();
    all.find(|view| view.config.name == name).map(AsRef::as_ref)
}

fn count_text(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::report::fixture;
    use model::config::toml_tree::parse_tree;
    use model::config::{diff, load};

    const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"
[service.blog]
listen = "127.0.0.1:8081"
forward = "http"
pool = "blog"
[pool.web]
servers = [ { name = "a", address = "127.0.0.1:1001" }, { name = "b", address = "127.0.0.1:1002", weight = 1 } ]
[pool.blog]
servers = [ { name = "c", address = "127.0.0.1:1003" } ]
"#;

    #[test]
    fn what_is_open_and_what_was_written_is_reported() {
        let snapshot = fixture::state_snapshot(TEXT, 1);
        let new = TEXT
            .replace("[service.blog]\nlisten = \"127.0.0.1:8081\"\nforward = \"http\"\npool = \"blog\"\n", "")
            .replace("[pool.blog]\nservers = [ { name = \"c\", address = \"127.0.0.1:1003\" } ]\n", "")
            .replace("{ name = \"a\", address = \"127.0.0.1:1001\" }, ", "")
            .replace("weight = 1", "weight = 3");
        let differs = diff(&snapshot.config, &load(&new, "x").unwrap().config);
        assert_eq!(
            describe_impact(&snapshot, &differs),
            [
                "service blog is removed: 0 connections and 0 exchanges finish first",
                "pool blog is removed: 0 exchanges at its servers finish first",
                "server web/a is removed: 0 exchanges at it finish first",
            ]
        );
        let old = parse_tree(TEXT).unwrap();
        let new = parse_tree(&new).unwrap();
        let pools = changed_pools(&differs, &old, &new);
        let key = &pools.changed[0].servers.changed[0].keys[0];
        assert_eq!((key.from.as_deref(), key.to.as_deref()), (Some("1"), Some("3")));
        assert_eq!(count_text(1, "exchange"), "1 exchange");
    }

    #[test]
    fn what_is_no_service_is_reported_too() {
        let old = "[names]\nlisten = \"127.0.0.1:53\"\n[zone.\"gslb.example\"]\nnameservers = \"ns.gslb.example\"\n\
                   [name.\"ns.gslb.example\"]\naddresses = \"127.0.0.1\"\n[uplink.a]\ninterface = \"wan0\"\nvia = \"192.0.2.1\"\n";
        let new = old.replace("127.0.0.1:53", "127.0.0.2:53").replace("192.0.2.1", "192.0.2.9");
        let new = format!("{new}[name.\"x.gslb.example\"]\naddresses = \"192.0.2.7\"\n");
        let of = |text: &str| (load(text, "x").unwrap().config, parse_tree(text).unwrap());
        let (before, old) = of(old);
        let (after, new) = of(&new);
        let differs = diff(&before, &after);
        let key = |key: &str, from: &str, to: &str| KeyChange {
            key: key.to_owned(),
            from: Some(from.to_owned()),
            to: Some(to.to_owned()),
        };
        let listen = vec![key("listen", "127.0.0.1:53", "127.0.0.2:53")];
        assert_eq!(
            changed_tables(&differs, &old, &new),
            [Changed { name: "names".to_owned(), keys: listen }]
        );
        let changes = other_changes(&differs, &old, &new);
        assert_eq!(changes.keys().collect::<Vec<_>>(), ["name", "uplink"]);
        assert_eq!(changes["name"].added, ["x.gslb.example"]);
        assert_eq!(changes["uplink"].changed[0].keys, [key("via", "192.0.2.1", "192.0.2.9")]);
    }
}
