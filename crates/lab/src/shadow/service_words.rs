//! The hosts, paths, methods and fields of one service's conditions, with those that the original's file names.
//!
//! Pure; `corpus` makes requests of them.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::hostile::field;
use super::inventory::SourceInventory;
use super::observation::SeenField;
use super::pattern_sample::{sample_expression, sample_glob, sample_hosts};
use super::plan::{collect, texts};

/// A host that no configuration names.
pub const UNKNOWN: &str = "unknown.invalid";

/// The hosts, paths and fields that are worth asking a service for.
#[derive(Clone, Debug, Default)]
pub struct ServiceWords {
    pub hosts: Vec<String>,
    /// Paths that conditions name, and those beside and below them.
    pub paths: Vec<String>,
    /// The paths that conditions name.
    pub named: Vec<String>,
    pub methods: BTreeSet<String>,
    /// Fields that conditions look at.
    pub fields: Vec<SeenField>,
    pub queries: Vec<String>,
}

impl ServiceWords {
    pub fn new(service: Option<&Value>, inventory: &SourceInventory) -> ServiceWords {
        let mut words = ServiceWords::default();
        let empty = Value::Table(Table::new());
        let service = service.unwrap_or(&empty);
        let found = |keys: &[&str]| {
            let mut list = Vec::new();
            collect(service, keys, &mut list);
            list
        };
        let hosts = found(&["host", "sni"]);
        let hosts = hosts.iter().flat_map(|host| sample_hosts(host));
        let hosts = hosts.chain(inventory.hosts.iter().cloned());
        for host in hosts.chain([UNKNOWN.to_owned()]) {
            add(&mut words.hosts, host);
        }
        let globs = found(&["path"]).into_iter().map(|glob| sample_glob(&glob));
        let expressions = found(&["path-regex"]).into_iter().map(|one| {
            let sample = sample_expression(&one);
            if sample.starts_with('/') { sample } else { format!("/{sample}") }
        });
        for path in globs.chain(expressions).chain(inventory.paths.iter().cloned()) {
            if path.chars().all(|c| c.is_ascii_graphic() && c != '{') {
                add(&mut words.named, path);
            }
        }
        add(&mut words.paths, "/".to_owned());
        for path in &words.named {
            let stem = path.trim_end_matches('/');
            for path in [
                path.clone(),
                stem.to_owned(),
                format!("{stem}/below?q=1"),
                format!("{stem}beside"),
            ] {
                if path.starts_with('/') {
                    add(&mut words.paths, path);
                }
            }
        }
        add(&mut words.paths, "/no/such/path.html?a=b&c=%20d".to_owned());
        words.methods = found(&["method"]).into_iter().collect();
        words.read_conditions(service);
        words
    }

    /// Fields, cookies and parameters of conditions: tables of names and values, or texts.
    fn read_conditions(&mut self, value: &Value) {
        match value {
            Value::Table(table) => {
                for (key, inner) in table {
                    match key.as_str() {
                        "header" | "cookie" | "query" => self.read_named(key, inner),
                        _ => self.read_conditions(inner),
                    }
                }
            }
            Value::Array(list) => list.iter().for_each(|inner| self.read_conditions(inner)),
            _ => {}
        }
    }

    fn read_named(&mut self, key: &str, inner: &Value) {
        let mut pairs: Vec<SeenField> = Vec::new();
        match inner {
            Value::Table(table) => {
                for (name, value) in table {
                    let values = texts(Some(value));
                    let value = values.first().map_or("1", String::as_str);
                    pairs.push(field(name, &value.replace('*', "")));
                }
            }
            other => {
                for text in texts(Some(other)) {
                    let mut parts = text.splitn(2, [':', '=']);
                    let name = parts.next().unwrap_or("").trim().to_owned();
                    let value = parts.next().unwrap_or("1").trim().replace('*', "");
                    pairs.push(field(&name, &value));
                }
            }
        }
        for SeenField { name, value } in pairs {
            match key {
                "query" => add(&mut self.queries, format!("{name}={value}")),
                "cookie" => add(&mut self.fields, field("Cookie", &format!("{name}={value}"))),
                _ => add(&mut self.fields, SeenField { name, value }),
            }
        }
    }
}

fn add<T: PartialEq>(list: &mut Vec<T>, one: T) {
    if !list.contains(&one) && list.len() < 80 {
        list.push(one);
    }
}
