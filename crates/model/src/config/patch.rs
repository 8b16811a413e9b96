//! A merge patch (RFC 7396) written into the text of a configuration: the whole, or one object of it. Comments and form
//! of all that it does not concern stay. Text in, text out: whether the result is good is for `load`.

mod list;
pub mod plain;

use plain::{PatchError, name_of, node};
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value as Node, value};

use super::tree::tree;

/// An object of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// All of it.
    Whole,
    /// A service.
    Service(String),
    /// A pool.
    Pool(String),
    /// A server.
    Server {
        /// Its pool.
        pool: String,
        /// Its name.
        name: String,
    },
    /// A rule.
    Rule {
        /// Its service.
        service: String,
        /// Its name, or its place in the list, from 1.
        name: String,
    },
}

/// The object as it is written; only what is written is in it.
///
/// # Errors
/// There is none, or the text is not TOML.
pub fn read(text: &str, object: &Object) -> Result<Value, PatchError> {
    let root = tree(text).map_err(PatchError::Syntax)?;
    let table = |kind: &str, name: &str| {
        let found = root.get(kind).and_then(|all| all.get(name));
        let near = root.get(kind).and_then(Value::as_object);
        let near = near.map(|all| all.keys().cloned().collect()).unwrap_or_default();
        let what = format!("{kind} '{name}'");
        found.filter(|it| it.is_object()).ok_or(PatchError::Unknown { what, near })
    };
    match object {
        Object::Whole => Ok(root),
        Object::Service(name) => table("service", name).cloned(),
        Object::Pool(name) => table("pool", name).cloned(),
        Object::Server { pool, name } => {
            let servers = list(table("pool", pool)?, "servers");
            let found = servers.iter().find(|one| name_of(one).as_deref() == Some(name));
            found.map(spread).ok_or_else(|| PatchError::Unknown {
                what: format!("server '{name}' in pool '{pool}' of the configuration"),
                near: servers.iter().filter_map(name_of).collect(),
            })
        }
        Object::Rule { service, name } => {
            let rules = list(table("service", service)?, "rule");
            let at = rule_at(&rules, name).ok_or_else(|| unknown_rule(service, name, &rules))?;
            Ok(rules.get(at).cloned().unwrap_or_default())
        }
    }
}

/// The text after the patch.
///
/// # Errors
/// See `PatchError`.
pub fn patch(text: &str, object: &Object, patch: &Value) -> Result<String, PatchError> {
    let Value::Object(keys) = patch else { return Err(PatchError::Form(kind_of(patch))) };
    // It says what there is instead when there is no such object.
    let before = read(text, object)?;
    let mut file: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| PatchError::Syntax(error.message().into()))?;
    let lost = || PatchError::Form("a form that cannot be edited");
    match object {
        Object::Whole => merge(file.as_table_mut(), keys, "", 0)?,
        Object::Service(name) => {
            merge(inner(&mut file, "service", name).ok_or_else(lost)?, keys, name, 2)?;
        }
        Object::Pool(name) => {
            merge(inner(&mut file, "pool", name).ok_or_else(lost)?, keys, name, 2)?;
        }
        Object::Server { pool, name } => {
            let table = inner(&mut file, "pool", pool).ok_or_else(lost)?;
            let mut all = list(&read(text, &Object::Pool(pool.clone()))?, "servers");
            let at = all.iter().position(|one| name_of(one).as_deref() == Some(name));
            replace(table, "servers", &mut all, at, &before, keys)?;
        }
        Object::Rule { service, name } => {
            let table = inner(&mut file, "service", service).ok_or_else(lost)?;
            let mut all = list(&read(text, &Object::Service(service.clone()))?, "rule");
            let at = rule_at(&all, name);
            replace(table, "rule", &mut all, at, &before, keys)?;
        }
    }
    Ok(file.to_string())
}

/// Patches one element of a list, and the list with it.
fn replace(
    table: &mut dyn TableLike,
    key: &str,
    all: &mut [Value],
    at: Option<usize>,
    before: &Value,
    keys: &Map<String, Value>,
) -> Result<(), PatchError> {
    if let Some(one) = at.and_then(|at| all.get_mut(at)) {
        *one = merged(before, keys);
    }
    let whole = Map::from_iter([(key.to_owned(), Value::Array(all.to_vec()))]);
    merge(table, &whole, "", 2)
}

/// RFC 7396 §2 for plain values.
fn merged(target: &Value, patch: &Map<String, Value>) -> Value {
    let mut out = target.as_object().cloned().unwrap_or_default();
    for (key, value) in patch {
        match value {
            Value::Null => drop(out.remove(key)),
            Value::Object(inner) => {
                let before = out.get(key).cloned().unwrap_or_default();
                out.insert(key.clone(), merged(&before, inner));
            }
            other => drop(out.insert(key.clone(), other.clone())),
        }
    }
    Value::Object(out)
}

/// Writes a patch into a table. Down to `[service.NAME]` new tables get a header of their own, below they stand in a
/// line.
fn merge(
    table: &mut dyn TableLike,
    patch: &Map<String, Value>,
    at: &str,
    depth: usize,
) -> Result<(), PatchError> {
    for (key, new) in patch {
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        match new {
            Value::Null => drop(table.remove(key)),
            Value::Object(keys) => {
                if let Some(old) = table.get_mut(key).and_then(Item::as_table_like_mut) {
                    merge(old, keys, &path, depth + 1)?;
                } else if depth < 2 {
                    let mut made = Table::new();
                    // What has no key of its own and no table below needs its header to be there.
                    let headed = keys.is_empty() || !keys.values().all(Value::is_object);
                    made.set_implicit(depth == 0 && !headed);
                    merge(&mut made, keys, &path, depth + 1)?;
                    table.insert(key, Item::Table(made));
                } else {
                    put(table, key, node(&without_nulls(keys), &path)?);
                }
            }
            Value::Array(elements) => {
                let made = list::list(table.get(key), elements, &path, inline)?;
                let decor = table.get(key).and_then(Item::as_value).map(|old| old.decor().clone());
                let mut made = made;
                if let (Some(decor), Some(made)) = (decor, made.as_value_mut()) {
                    *made.decor_mut() = decor;
                }
                table.insert(key, made);
            }
            plain => put(table, key, node(plain, &path)?),
        }
    }
    Ok(())
}

/// As deep as a list: new tables stand in a line.
fn inline(
    table: &mut dyn TableLike,
    patch: &Map<String, Value>,
    at: &str,
) -> Result<(), PatchError> {
    merge(table, patch, at, 2)
}

/// Replaces a value and keeps what stands around it.
fn put(table: &mut dyn TableLike, key: &str, new: Node) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = new;
            *old.decor_mut() = decor;
        }
        None => drop(table.insert(key, value(new))),
    }
}

fn inner<'f>(file: &'f mut DocumentMut, kind: &str, name: &str) -> Option<&'f mut dyn TableLike> {
    file.get_mut(kind)?.as_table_like_mut()?.get_mut(name)?.as_table_like_mut()
}

fn without_nulls(keys: &Map<String, Value>) -> Value {
    merged(&Value::Null, keys)
}

/// The elements of a list; a single one counts as a list.
fn list(table: &Value, key: &str) -> Vec<Value> {
    match table.get(key) {
        Some(Value::Array(all)) => all.clone(),
        Some(single) => vec![single.clone()],
        None => Vec::new(),
    }
}

/// A server that is only an address, as a table.
fn spread(one: &Value) -> Value {
    match one {
        Value::String(address) => serde_json::json!({ "address": address }),
        other => other.clone(),
    }
}

fn rule_at(rules: &[Value], name: &str) -> Option<usize> {
    let named =
        rules.iter().position(|rule| rule.get("name").and_then(Value::as_str) == Some(name));
    let counted = || name.parse().ok().and_then(|at: usize| at.checked_sub(1));
    named.or_else(counted).filter(|at| *at < rules.len())
}

fn unknown_rule(service: &str, name: &str, rules: &[Value]) -> PatchError {
    let named = |(at, rule): (usize, &Value)| {
        rule.get("name").and_then(Value::as_str).map_or((at + 1).to_string(), str::to_owned)
    };
    let near = rules.iter().enumerate().map(named).collect();
    PatchError::Unknown { what: format!("rule '{name}' of service '{service}'"), near }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a flag",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
