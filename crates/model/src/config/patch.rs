//! Applies a merge patch (RFC 7396) to the text of a configuration, or to one object of it. All unrelated comments and
//! formatting are preserved. It processes only text; `load` checks the result.

pub mod json_to_toml;
mod list;
pub mod object_edit;
pub mod service_copy;

use std::ops::Range;

use json_to_toml::{PatchError, element_name, to_toml_value};
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value as Node, value};

use super::renamed_keys::former_names;
use super::syntax_message::syntax_message;
use super::text_block::TextBlocks;
use super::toml_tree::parse_tree;

/// An object of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigObject {
    Root,
    Service(String),
    Pool(String),
    Server {
        pool: String,
        name: String,
    },
    Rule {
        service: String,
        /// The name, or the position in the list, from 1.
        name: String,
    },
}

/// The object as written, without defaults.
///
/// # Errors
/// The object does not exist, or the text is not TOML.
pub fn read_object(text: &str, object: &ConfigObject) -> Result<Value, PatchError> {
    let lines = object_lines(text, object).and_then(|range| text.get(range));
    match lines.map(|lines| read_object_of(lines, object)) {
        Some(Ok(found)) => Ok(found),
        _ => read_object_of(text, object),
    }
}

/// The bytes of the text that alone hold the object; `None` if that cannot be told without parsing it.
fn object_lines(text: &str, object: &ConfigObject) -> Option<Range<usize>> {
    let blocks = TextBlocks::new(text)?;
    match object {
        ConfigObject::Root => None,
        ConfigObject::Service(name) => blocks.object(&format!("service.{name}")),
        ConfigObject::Pool(name) | ConfigObject::Server { pool: name, .. } => {
            blocks.object(&format!("pool.{name}"))
        }
        ConfigObject::Rule { service, name } => {
            let named = |range: &Range<usize>| {
                let lines = text.get(range.clone()).unwrap_or_default();
                lines.contains(name.as_str()) && is_rule_named(lines, service, name)
            };
            match blocks.rules(service) {
                Some(rules) => rules.into_iter().find(named),
                None => blocks.object(&format!("service.{service}")),
            }
        }
    }
}

fn is_rule_named(lines: &str, service: &str, name: &str) -> bool {
    let object = ConfigObject::Rule { service: service.to_owned(), name: "1".to_owned() };
    let rule = read_object_of(lines, &object).ok();
    rule.is_some_and(|rule| rule.get("name").and_then(Value::as_str) == Some(name))
}

fn read_object_of(text: &str, object: &ConfigObject) -> Result<Value, PatchError> {
    let root = parse_tree(text).map_err(PatchError::Syntax)?;
    let table = |kind: &str, name: &str| {
        let found = root.get(kind).and_then(|all| all.get(name));
        let near = root.get(kind).and_then(Value::as_object);
        let near = near.map(|all| all.keys().cloned().collect()).unwrap_or_default();
        let what = format!("{kind} '{name}'");
        found.filter(|it| it.is_object()).ok_or(PatchError::Unknown { what, near })
    };
    match object {
        ConfigObject::Root => Ok(root),
        ConfigObject::Service(name) => table("service", name).cloned(),
        ConfigObject::Pool(name) => table("pool", name).cloned(),
        ConfigObject::Server { pool, name } => {
            let servers = list_elements(table("pool", pool)?, "servers");
            let found = servers.iter().find(|one| element_name(one).as_deref() == Some(name));
            found.map(server_as_table).ok_or_else(|| PatchError::Unknown {
                what: format!("server '{name}' in pool '{pool}' of the configuration"),
                near: servers.iter().filter_map(element_name).collect(),
            })
        }
        ConfigObject::Rule { service, name } => {
            let rules = list_elements(table("service", service)?, "rule");
            let at = find_rule(&rules, name).ok_or_else(|| unknown_rule(service, name, &rules))?;
            Ok(rules.get(at).cloned().unwrap_or_default())
        }
    }
}

/// The text after the patch. Where the object's lines can be told apart, no other line is read.
///
/// # Errors
/// See `PatchError`.
pub fn apply_patch(text: &str, object: &ConfigObject, patch: &Value) -> Result<String, PatchError> {
    let Value::Object(keys) = patch else { return Err(PatchError::Form(json_type_name(patch))) };
    if let Some(range) = object_lines(text, object)
        && let Some(lines) = text.get(range.clone())
        && let Ok(patched) = patch_text(lines, object, keys)
    {
        return Ok(splice(text, range, &patched));
    }
    // The message for a missing object names similar ones of the whole text.
    patch_text(text, object, keys)
}

/// The text with other lines in place of some.
fn splice(text: &str, range: Range<usize>, lines: &str) -> String {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    [before, lines, after].concat()
}

/// Patches an object of a text by parsing all of it.
fn patch_text(
    text: &str,
    object: &ConfigObject,
    keys: &Map<String, Value>,
) -> Result<String, PatchError> {
    // For a missing object this returns an error that lists similar names.
    let before = read_object_of(text, object)?;
    let mut file = parse_document(text)?;
    let lost = || PatchError::Form("a form that cannot be edited");
    match object {
        ConfigObject::Root => merge_into_table(file.as_table_mut(), keys, "", 0)?,
        ConfigObject::Service(name) => {
            merge_into_table(
                object_table(&mut file, "service", name).ok_or_else(lost)?,
                keys,
                name,
                2,
            )?;
        }
        ConfigObject::Pool(name) => {
            merge_into_table(
                object_table(&mut file, "pool", name).ok_or_else(lost)?,
                keys,
                name,
                2,
            )?;
        }
        ConfigObject::Server { pool, name } => {
            let table = object_table(&mut file, "pool", pool).ok_or_else(lost)?;
            let mut all =
                list_elements(&read_object_of(text, &ConfigObject::Pool(pool.clone()))?, "servers");
            let at = all.iter().position(|one| element_name(one).as_deref() == Some(name));
            replace(table, "servers", &mut all, at, &before, keys)?;
        }
        ConfigObject::Rule { service, name } => {
            let table = object_table(&mut file, "service", service).ok_or_else(lost)?;
            let mut all = list_elements(
                &read_object_of(text, &ConfigObject::Service(service.clone()))?,
                "rule",
            );
            let at = find_rule(&all, name);
            replace(table, "rule", &mut all, at, &before, keys)?;
        }
    }
    Ok(file.to_string())
}

fn parse_document(text: &str) -> Result<DocumentMut, PatchError> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| PatchError::Syntax(syntax_message(error.message())))
}

/// Patches one element of a list and writes the list.
fn replace(
    table: &mut dyn TableLike,
    key: &str,
    all: &mut [Value],
    at: Option<usize>,
    before: &Value,
    keys: &Map<String, Value>,
) -> Result<(), PatchError> {
    if let Some(one) = at.and_then(|at| all.get_mut(at)) {
        *one = apply_merge_patch(before, keys);
    }
    let whole = Map::from_iter([(key.to_owned(), Value::Array(all.to_vec()))]);
    merge_into_table(table, &whole, "", 2)
}

/// RFC 7396 §2 for plain values.
fn apply_merge_patch(target: &Value, patch: &Map<String, Value>) -> Value {
    let mut out = target.as_object().cloned().unwrap_or_default();
    for (key, value) in patch {
        for former in former_names(key) {
            if let Some(value) = out.remove(*former) {
                out.entry(key.clone()).or_insert(value);
            }
        }
        match value {
            Value::Null => drop(out.remove(key)),
            Value::Object(inner) => {
                let before = out.get(key).cloned().unwrap_or_default();
                out.insert(key.clone(), apply_merge_patch(&before, inner));
            }
            other => drop(out.insert(key.clone(), other.clone())),
        }
    }
    Value::Object(out)
}

/// Writes a patch into a table. New tables down to `[service.NAME]` get their own header; deeper ones are inline.
fn merge_into_table(
    table: &mut dyn TableLike,
    patch: &Map<String, Value>,
    at: &str,
    depth: usize,
) -> Result<(), PatchError> {
    for (key, new) in patch {
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        // The file may still have the key under an earlier name: the two would contradict each other.
        for former in former_names(key) {
            rename_key(table, former, key);
        }
        match new {
            Value::Null => drop(table.remove(key)),
            Value::Object(keys) => {
                if let Some(old) = table.get_mut(key).and_then(Item::as_table_like_mut) {
                    merge_into_table(old, keys, &path, depth + 1)?;
                } else if depth < 2 {
                    let mut made = Table::new();
                    // A table without keys of its own and without inner tables needs a visible header.
                    let headed = keys.is_empty() || !keys.values().all(Value::is_object);
                    made.set_implicit(depth == 0 && !headed);
                    merge_into_table(&mut made, keys, &path, depth + 1)?;
                    table.insert(key, Item::Table(made));
                } else {
                    replace_value(table, key, to_toml_value(&without_nulls(keys), &path)?);
                }
            }
            Value::Array(elements) => {
                let made = list::patch_list(table.get(key), elements, &path, merge_inline)?;
                let decor = table.get(key).and_then(Item::as_value).map(|old| old.decor().clone());
                let mut made = made;
                if let (Some(decor), Some(made)) = (decor, made.as_value_mut()) {
                    *made.decor_mut() = decor;
                }
                table.insert(key, made);
            }
            plain => replace_value(table, key, to_toml_value(plain, &path)?),
        }
    }
    Ok(())
}

/// Writes the value of a key under another name.
fn rename_key(table: &mut dyn TableLike, from: &str, to: &str) {
    if !table.contains_key(to)
        && let Some(item) = table.remove(from)
    {
        table.insert(to, item);
    }
}

/// Inside a list, new tables are inline.
fn merge_inline(
    table: &mut dyn TableLike,
    patch: &Map<String, Value>,
    at: &str,
) -> Result<(), PatchError> {
    merge_into_table(table, patch, at, 2)
}

/// Replaces a value and preserves the comments and blanks around it.
fn replace_value(table: &mut dyn TableLike, key: &str, new: Node) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = new;
            *old.decor_mut() = decor;
        }
        None => drop(table.insert(key, value(new))),
    }
}

fn object_table<'f>(
    file: &'f mut DocumentMut,
    kind: &str,
    name: &str,
) -> Option<&'f mut dyn TableLike> {
    file.get_mut(kind)?.as_table_like_mut()?.get_mut(name)?.as_table_like_mut()
}

fn without_nulls(keys: &Map<String, Value>) -> Value {
    apply_merge_patch(&Value::Null, keys)
}

/// The elements of a list; a single value counts as a list.
fn list_elements(table: &Value, key: &str) -> Vec<Value> {
    match table.get(key) {
        Some(Value::Array(all)) => all.clone(),
        Some(single) => vec![single.clone()],
        None => Vec::new(),
    }
}

/// A server given only as an address, as a table.
fn server_as_table(one: &Value) -> Value {
    match one {
        Value::String(address) => serde_json::json!({ "address": address }),
        other => other.clone(),
    }
}

fn find_rule(rules: &[Value], name: &str) -> Option<usize> {
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

fn json_type_name(value: &Value) -> &'static str {
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
