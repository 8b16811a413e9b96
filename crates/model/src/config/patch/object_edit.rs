//! Puts and removes whole objects of a configuration's text: what `PUT` and `DELETE` of the API do. All unrelated
//! comments and formatting are preserved. It processes only text; `load` checks the result.

use std::ops::Range;

use serde_json::{Map, Value, json};
use toml_edit::{DocumentMut, Value as Node};

use super::json_to_toml::{PatchError, element_name};
use super::{
    ConfigObject, apply_patch, find_rule, json_type_name, list_elements, merge_into_table,
    object_lines, read_object, splice,
};
use crate::config::text_block::TextBlocks;
use crate::config::toml_tree::merge_patch_between;

/// What is done with an object.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectEdit {
    /// A merge patch (RFC 7396) of an object that exists.
    Merge(Value),
    Put(ObjectPut),
    Remove,
}

/// An object as it is to be; it is made if it does not exist.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectPut {
    /// Its keys as written, without its name.
    pub value: Value,
    /// The rule before which a new rule is inserted; `None`: it is the last one. Rules that exist keep their place.
    pub before: Option<String>,
    /// An object that exists is an error.
    pub must_be_new: bool,
}

/// The text after the edit.
///
/// # Errors
/// See `PatchError`.
pub fn apply_edit(
    text: &str,
    object: &ConfigObject,
    edit: &ObjectEdit,
) -> Result<String, PatchError> {
    match edit {
        ObjectEdit::Merge(patch) => apply_patch(text, object, patch),
        ObjectEdit::Put(put) => put_object(text, object, put),
        ObjectEdit::Remove => remove_object(text, object),
    }
}

/// Whether the object is in the text.
pub fn has_object(text: &str, object: &ConfigObject) -> bool {
    read_object(text, object).is_ok()
}

fn put_object(text: &str, object: &ConfigObject, put: &ObjectPut) -> Result<String, PatchError> {
    let Value::Object(keys) = &put.value else {
        return Err(PatchError::Form(json_type_name(&put.value)));
    };
    let keys = with_name(object, keys)?;
    match read_object(text, object) {
        Ok(_) if put.must_be_new => Err(PatchError::Exists { what: describe_object(object) }),
        Ok(before) => {
            apply_patch(text, object, &merge_patch_between(&before, &Value::Object(keys)))
        }
        Err(PatchError::Unknown { .. }) => insert_object(text, object, keys, put.before.as_deref()),
        Err(other) => Err(other),
    }
}

/// The keys with the name that the object is asked for by; elements of lists carry theirs inside.
fn with_name(
    object: &ConfigObject,
    keys: &Map<String, Value>,
) -> Result<Map<String, Value>, PatchError> {
    let (ConfigObject::Server { name, .. } | ConfigObject::Rule { name, .. }) = object else {
        return Ok(keys.clone());
    };
    let mut keys = keys.clone();
    // A server named after its address needs no name, and a rule is named by its place if it has none.
    let is_named = element_name(&Value::Object(keys.clone())).as_deref() == Some(name);
    let given = keys.get("name").filter(|given| given.as_str() != Some(name));
    if let Some(given) = given {
        return Err(PatchError::Name { wanted: name.clone(), found: given.to_string() });
    }
    let is_place = matches!(object, ConfigObject::Rule { .. }) && name.parse::<usize>().is_ok();
    if !is_named && !is_place {
        let rest = std::mem::take(&mut keys);
        keys.insert("name".to_owned(), Value::String(name.clone()));
        keys.extend(rest);
    }
    Ok(keys)
}

fn insert_object(
    text: &str,
    object: &ConfigObject,
    keys: Map<String, Value>,
    before: Option<&str>,
) -> Result<String, PatchError> {
    let value = Value::Object(keys);
    match object {
        ConfigObject::Root => apply_patch(text, object, &value),
        ConfigObject::Service(name) => insert_table(text, "service", name, value),
        ConfigObject::Pool(name) => insert_table(text, "pool", name, value),
        ConfigObject::Server { pool, .. } => {
            let pool = ConfigObject::Pool(pool.clone());
            let mut all = list_elements(&read_object(text, &pool)?, "servers");
            all.push(value);
            apply_patch(text, &pool, &json!({ "servers": all }))
        }
        ConfigObject::Rule { service, .. } => insert_rule(text, service, value, before),
    }
}

/// Appends a table of its own where others of its kind have theirs.
fn insert_table(text: &str, kind: &str, name: &str, value: Value) -> Result<String, PatchError> {
    let keys = Map::from_iter([(kind.to_owned(), json!({ name: value }))]);
    if TextBlocks::new(text).is_some_and(|blocks| blocks.has_tables(kind)) {
        let mut made = DocumentMut::new();
        merge_into_table(made.as_table_mut(), &keys, "", 0)?;
        let gap = if text.ends_with('\n') { "\n" } else { "\n\n" };
        return Ok([text, gap, made.to_string().trim_start()].concat());
    }
    apply_patch(text, &ConfigObject::Root, &Value::Object(keys))
}

fn insert_rule(
    text: &str,
    service: &str,
    rule: Value,
    before: Option<&str>,
) -> Result<String, PatchError> {
    let owner = ConfigObject::Service(service.to_owned());
    let mut all = list_elements(&read_object(text, &owner)?, "rule");
    let at = match before {
        None => all.len(),
        Some(name) => {
            find_rule(&all, name).ok_or_else(|| super::unknown_rule(service, name, &all))?
        }
    };
    if let Some(range) = rule_gap(text, service, at, all.is_empty()) {
        return Ok(splice(text, range, &rule_lines(service, &rule)?));
    }
    all.insert(at, rule);
    apply_patch(text, &owner, &json!({ "rule": all }))
}

/// The empty range in the text where a rule's own lines become the rule with this number, from 0.
fn rule_gap(text: &str, service: &str, at: usize, is_first: bool) -> Option<Range<usize>> {
    let blocks = TextBlocks::new(text)?;
    if is_first {
        let end = blocks.object(&format!("service.{service}"))?.end;
        return text.get(..end)?.ends_with('\n').then_some(end..end);
    }
    let rules = blocks.rules(service)?;
    let place = rules.get(at).map_or(rules.last()?.end, |next| next.start);
    text.get(..place)?.ends_with('\n').then_some(place..place)
}

/// A rule as a table of its own.
fn rule_lines(service: &str, rule: &Value) -> Result<String, PatchError> {
    let Value::Object(keys) = rule else { return Err(PatchError::Form(json_type_name(rule))) };
    let mut lines = format!("\n[[service.{service}.rule]]\n");
    let name = keys.iter().filter(|(key, _)| *key == "name");
    let rest = keys.iter().filter(|(key, value)| *key != "name" && !value.is_null());
    for (key, value) in name.chain(rest) {
        let value: Node = super::to_toml_value(value, key)?;
        let key = toml_edit::Key::new(key);
        lines.push_str(&format!("{key} = {value}\n"));
    }
    Ok(lines)
}

fn remove_object(text: &str, object: &ConfigObject) -> Result<String, PatchError> {
    // A missing object is an error that lists similar names.
    read_object(text, object)?;
    let own_lines = || object_lines(text, object).map(|range| splice(text, range, ""));
    match object {
        ConfigObject::Root => Ok(String::new()),
        ConfigObject::Service(name) => {
            own_lines().map_or_else(|| remove_table(text, "service", name), Ok)
        }
        ConfigObject::Pool(name) => {
            own_lines().map_or_else(|| remove_table(text, "pool", name), Ok)
        }
        ConfigObject::Server { pool, name } => {
            let pool = ConfigObject::Pool(pool.clone());
            let mut all = list_elements(&read_object(text, &pool)?, "servers");
            all.retain(|server| element_name(server).as_deref() != Some(name));
            apply_patch(text, &pool, &json!({ "servers": all }))
        }
        ConfigObject::Rule { service, name } => {
            let owner = ConfigObject::Service(service.clone());
            let mut all = list_elements(&read_object(text, &owner)?, "rule");
            let Some(at) = find_rule(&all, name) else { return Ok(text.to_owned()) };
            let rules = TextBlocks::new(text).and_then(|blocks| blocks.rules(service));
            if let Some(range) = rules.as_ref().and_then(|rules| rules.get(at)) {
                return Ok(splice(text, range.clone(), ""));
            }
            all.remove(at);
            apply_patch(text, &owner, &json!({ "rule": all }))
        }
    }
}

fn remove_table(text: &str, kind: &str, name: &str) -> Result<String, PatchError> {
    apply_patch(text, &ConfigObject::Root, &json!({ kind: { name: null } }))
}

fn describe_object(object: &ConfigObject) -> String {
    match object {
        ConfigObject::Root => "the configuration".to_owned(),
        ConfigObject::Service(name) => format!("service '{name}'"),
        ConfigObject::Pool(name) => format!("pool '{name}'"),
        ConfigObject::Server { pool, name } => format!("server '{name}' in pool '{pool}'"),
        ConfigObject::Rule { service, name } => format!("rule '{name}' of service '{service}'"),
    }
}

#[cfg(test)]
mod tests;
