//! Every key of a service and a pool with every forwarding method must change the configuration or be rejected.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table as Toml, Value};

use super::super::finding::Severity;
use super::super::loader::load;
use super::super::schema::{DefaultValue, KeySchema, TableSchema, TextFormat, ValueKind};
use crate::config::pool::POOL;
use crate::config::service::SERVICE;

const METHODS: [&str; 5] = ["http", "tcp", "mac", "tunnel", "nat"];

/// A key with its outer tables.
struct SchemaPath {
    /// Keys from the service or pool down.
    keys: Vec<&'static KeySchema>,
}

impl SchemaPath {
    fn path(&self) -> String {
        self.keys.iter().map(|key| key.name).collect::<Vec<_>>().join(".")
    }

    /// Whether a method supports the key according to the schema.
    fn fits(&self, method: &str) -> bool {
        self.keys.iter().all(|key| match method {
            "http" => !key.packets_only,
            "tcp" => !key.packets_only && !key.http_only,
            _ => !key.http_only && !key.proxy_only,
        })
    }
}

/// All keys below a table, without nested conditions.
fn walk(
    table: &'static TableSchema,
    above: &[&'static KeySchema],
    seen: &[*const TableSchema],
) -> Vec<SchemaPath> {
    let mut all = Vec::new();
    for key in table.keys.iter().filter(|key| !matches!(key.kind, ValueKind::Refused(_))) {
        let keys: Vec<_> = above.iter().copied().chain([key]).collect();
        if let ValueKind::Table { table, .. } | ValueKind::List { table, .. } = &key.kind {
            let this: *const TableSchema = *table;
            if seen.contains(&this) {
                continue;
            }
            let seen: Vec<_> = seen.iter().copied().chain([this]).collect();
            all.extend(walk(table, &keys, &seen));
        } else {
            all.push(SchemaPath { keys });
        }
    }
    all
}

/// The values in the full example, by their path within a service or pool; a path may have several.
struct ExampleValues {
    own: BTreeMap<String, Vec<Value>>,
    /// Values of other tables, such as `[global]`.
    elsewhere: BTreeMap<String, Vec<Value>>,
}

impl ExampleValues {
    fn of(kind: &str) -> ExampleValues {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/full.toml");
        let full: Toml = std::fs::read_to_string(path).unwrap().parse().unwrap();
        let mut own = BTreeMap::new();
        let mut elsewhere = BTreeMap::new();
        for (_, one) in full[kind].as_table().unwrap() {
            collect(one, String::new(), &mut own);
        }
        collect(&Value::Table(full), String::new(), &mut elsewhere);
        ExampleValues { own, elsewhere }
    }

    /// Values for a path. If this kind of table has none, the values of the path elsewhere with the longest common
    /// ending.
    fn get(&self, path: &str) -> &[Value] {
        if let Some(values) = self.own.get(path) {
            return values;
        }
        let mut ending = path;
        loop {
            let like = |found: &&String| found.ends_with(&format!(".{ending}"));
            if let Some(found) = self.elsewhere.keys().find(like) {
                return &self.elsewhere[found];
            }
            match ending.split_once('.') {
                Some((_, shorter)) => ending = shorter,
                None => return &[],
            }
        }
    }
}

fn collect(value: &Value, path: String, all: &mut BTreeMap<String, Vec<Value>>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(value, path, all);
            }
        }
        Value::Array(list) if list.iter().any(Value::is_table) => {
            list.iter()
                .filter(|one| one.is_table())
                .for_each(|one| collect(one, path.clone(), all));
        }
        value => all.entry(path).or_default().push(value.clone()),
    }
}

/// A service of the method and its pool, with `value` at a key of one of them and the settings that the key requires.
fn text(
    method: &str,
    kind: &str,
    walked: &SchemaPath,
    value: &Value,
    samples: &ExampleValues,
) -> String {
    let listen = "192.0.2.1:80";
    let mut service: Toml =
        format!("listen = \"{listen}\"\nforward = \"{method}\"\npool = \"p\"").parse().unwrap();
    let mut pool: Toml = "servers = [\"192.0.2.9:80\"]".parse().unwrap();
    let target = if kind == "service" { &mut service } else { &mut pool };
    let packets = !matches!(method, "http" | "tcp");
    put(target, &walked.keys, "", (value, packets), samples);
    let mut named = Toml::new();
    named.insert("s".into(), Value::Table(service));
    let mut pools = Toml::new();
    pools.insert("p".into(), Value::Table(pool));
    let mut root = Toml::new();
    root.insert("service".into(), Value::Table(named));
    root.insert("pool".into(), Value::Table(pools));
    root.to_string()
}

fn put(
    into: &mut Toml,
    keys: &[&'static KeySchema],
    above: &str,
    (value, packets): (&Value, bool),
    samples: &ExampleValues,
) {
    let Some((key, below)) = keys.split_first() else { return };
    if below.is_empty() {
        // The only pool.
        let value = if key.name == "pool" { &Value::String("p".into()) } else { value };
        into.insert(key.name.into(), value.clone());
        return;
    }
    let path = if above.is_empty() { key.name.to_owned() } else { format!("{above}.{}", key.name) };
    let (ValueKind::Table { table, .. } | ValueKind::List { table, .. }) = &key.kind else {
        return;
    };
    let mut inner = Toml::new();
    for needed in table.keys.iter().filter(|key| matches!(key.default, DefaultValue::Required)) {
        if let Some(value) = samples.get(&format!("{path}.{}", needed.name)).first() {
            let pool = needed.name == "pool";
            let value = if pool { Value::String("p".into()) } else { value.clone() };
            inner.insert(needed.name.into(), value);
        }
    }
    // Settings that a table requires although no single key is required.
    let beside = match path.as_str() {
        "sticky" => Some(("expire", "1h")),
        "rule" if packets => Some(("pool", "p")),
        _ => None,
    };
    inner.extend(beside.map(|(key, value)| (key.to_owned(), Value::String(value.into()))));
    put(&mut inner, below, &path, (value, packets), samples);
    let inner = match &key.kind {
        ValueKind::List { .. } => Value::Array(vec![Value::Table(inner)]),
        _ => Value::Table(inner),
    };
    into.insert(key.name.into(), inner);
}

/// Whether a text is rejected at a key; positions in lists are ignored.
fn refused(text: &str, key: &str) -> bool {
    let Err(findings) = load(text, "test") else { return false };
    let plain = |key: &str| {
        let mut plain = String::new();
        let mut inside = false;
        for letter in key.chars() {
            inside = letter == '[' || (inside && letter != ']');
            if !inside && letter != ']' {
                plain.push(letter);
            }
        }
        plain
    };
    let errors = findings.findings.iter().filter(|one| one.severity == Severity::Error);
    errors
        .map(|one| plain(&one.key))
        .any(|found| key == found || key.starts_with(&format!("{found}.")))
}

#[test]
fn a_key_that_the_method_cannot_carry_is_refused() {
    let mut taken = BTreeSet::new();
    for (kind, table) in [("service", &SERVICE), ("pool", &POOL)] {
        let samples = ExampleValues::of(kind);
        for walked in walk(table, &[], &[table as *const TableSchema]) {
            let path = walked.path();
            let values = samples.get(&path);
            assert!(!values.is_empty(), "no example of {kind} {path}");
            for method in METHODS.into_iter().filter(|method| !walked.fits(method)) {
                let letter = if kind == "service" { "s" } else { "p" };
                let key = format!("{kind}.{letter}.{path}");
                for value in values {
                    let text = text(method, kind, &walked, value, &samples);
                    if !refused(&text, &key) {
                        taken.insert(format!("{method}: {kind} {path} = {value}"));
                    }
                }
            }
        }
    }
    assert_eq!(taken, BTreeSet::new());
}

/// With every method that supports a key, the key changes the configuration or is rejected because of other settings.
#[test]
fn a_key_that_the_method_can_carry_changes_the_configuration() {
    let mut idle = BTreeSet::new();
    let mut tried = 0;
    for (kind, table) in [("service", &SERVICE), ("pool", &POOL)] {
        let samples = ExampleValues::of(kind);
        for walked in walk(table, &[], &[table as *const TableSchema]) {
            let path = walked.path();
            let values = samples.get(&path);
            for method in METHODS.into_iter().filter(|method| walked.fits(method)) {
                let loaded = |value: &Value| {
                    load(&text(method, kind, &walked, value, &samples), "test").ok()
                };
                // The same without the key itself: the outer tables with their required settings.
                let nothing = text_without(method, kind, &walked, &samples);
                let without = load(&nothing, "test").ok().map(|checked| checked.config);
                let acts = |value: &Value| match loaded(value) {
                    Some(checked) => Some(checked.config) != without,
                    // Another setting contradicts this one, so the key is not without effect.
                    None => true,
                };
                let all: Vec<Value> = values.iter().cloned().chain(others(&walked)).collect();
                tried += 1;
                if !all.iter().any(acts) {
                    idle.insert(format!("{method}: {kind} {path} = {all:?}"));
                }
            }
        }
    }
    assert!(tried > 300, "{tried}");
    assert_eq!(idle, BTreeSet::new());
}

/// Further values of the key's type, because the example may contain the default.
fn others(walked: &SchemaPath) -> Vec<Value> {
    match walked.keys.last().map(|key| &key.kind) {
        Some(ValueKind::Flag) => vec![Value::Boolean(true), Value::Boolean(false)],
        Some(ValueKind::Count { min, max, .. }) => [*min, (*min + 1).min(*max), *max]
            .into_iter()
            .filter_map(|count| i64::try_from(count).ok().map(Value::Integer))
            .collect(),
        Some(ValueKind::Time { .. }) => vec![Value::String("41s".into())],
        Some(ValueKind::Size { max, .. }) => vec![Value::String(format!("{max}B"))],
        Some(ValueKind::Keyword(words)) => {
            words.iter().map(|word| Value::String(word.name.into())).collect()
        }
        Some(ValueKind::Text {
            form: TextFormat::Name | TextFormat::Interface | TextFormat::Congestion,
            ..
        }) => {
            vec![Value::String("other".into())]
        }
        _ => Vec::new(),
    }
}

fn text_without(method: &str, kind: &str, walked: &SchemaPath, samples: &ExampleValues) -> String {
    let written = text(method, kind, walked, &Value::Boolean(true), samples);
    let mut root: Toml = written.parse().unwrap();
    let letter = if kind == "service" { "s" } else { "p" };
    let mut at = root.get_mut(kind).and_then(|kinds| kinds.get_mut(letter)).unwrap();
    let (last, above) = walked.keys.split_last().unwrap();
    for key in above {
        let below = at.get_mut(key.name).unwrap();
        at = if below.is_array() { below.get_mut(0).unwrap() } else { below };
    }
    at.as_table_mut().unwrap().remove(last.name);
    root.to_string()
}
