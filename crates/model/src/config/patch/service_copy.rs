//! Copies a service with its pools under new names, in the text of a configuration. Comments and formatting are
//! preserved, also those of the copy. It processes only text; `load` checks the result.

use std::collections::BTreeMap;

use toml_edit::{Array, Item, Table, TableLike, Value as Node};

use super::json_to_toml::PatchError;
use super::object_edit::has_object;
use super::{ConfigObject, object_lines, parse_document, read_object, replace_value};

/// What the copy is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceCopy {
    pub service: String,
    pub new_service: String,
    /// The addresses of the copy, in place of those of the service.
    pub listen: Vec<String>,
    /// The name of the copy of the service's pool; `None`: as the new service.
    pub new_pool: Option<String>,
    /// The copy uses the pools of the service, and none is copied.
    pub share_pools: bool,
}

/// The text with the copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedService {
    pub text: String,
    /// The copied pools in the order in which the service names them.
    pub pools: Vec<CopiedPool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedPool {
    pub from: String,
    pub to: String,
    /// Other services that use the original, which is left as it is.
    pub also_used_by: Vec<String>,
}

/// Copies the service, and each pool that it or one of its rules names. The service's own pool is named as the new
/// service, each other one `NEW-POOL`.
///
/// # Errors
/// The service or a pool does not exist, or a new name is taken.
pub fn copy_service(text: &str, copy: &ServiceCopy) -> Result<CopiedService, PatchError> {
    let service = ConfigObject::Service(copy.service.clone());
    let original = read_object(text, &service)?;
    reject_taken(text, ConfigObject::Service(copy.new_service.clone()))?;
    let mut named = Vec::new();
    collect_pools(&original, "", &mut named);
    let own = original.get("pool").and_then(serde_json::Value::as_str);
    let mut new_text = text.to_owned();
    let mut pools = Vec::new();
    let mut names = BTreeMap::new();
    for from in named.iter().filter(|_| !copy.share_pools) {
        let to = match (&copy.new_pool, own == Some(from.as_str())) {
            (Some(name), true) => name.clone(),
            (None, true) => copy.new_service.clone(),
            (_, false) => format!("{}-{from}", copy.new_service),
        };
        // A copy of this run is in the new text already: two pools with one new name are found there.
        reject_taken(&new_text, ConfigObject::Pool(to.clone()))?;
        let pool = ConfigObject::Pool(from.clone());
        new_text = copy_object(&new_text, &pool, &to, |_| {})?;
        let also_used_by = services_using(text, from, &copy.service)?;
        pools.push(CopiedPool { from: from.clone(), to: to.clone(), also_used_by });
        names.insert(from.clone(), to);
    }
    let text = copy_object(&new_text, &service, &copy.new_service, |item| {
        rename_pools(item, "", &names);
        if let Some(table) = item.as_table_like_mut() {
            set_listen(table, &copy.listen);
        }
    })?;
    Ok(CopiedService { text, pools })
}

fn reject_taken(text: &str, object: ConfigObject) -> Result<(), PatchError> {
    let what = match &object {
        ConfigObject::Service(name) => format!("service '{name}'"),
        ConfigObject::Pool(name) => format!("pool '{name}'"),
        _ => String::new(),
    };
    if has_object(text, &object) { Err(PatchError::Exists { what }) } else { Ok(()) }
}

/// Whether a text under this key names a pool: `parent` is the key of the table around it.
fn names_pool(parent: &str, key: &str) -> bool {
    matches!((parent, key), (_, "pool" | "mirror") | ("servers", "of"))
}

/// Every pool that a value names, once.
fn collect_pools(value: &serde_json::Value, parent: &str, named: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(keys) => {
            for (key, inner) in keys {
                match inner.as_str() {
                    Some(pool) if names_pool(parent, key) => {
                        if !named.iter().any(|one| one == pool) {
                            named.push(pool.to_owned());
                        }
                    }
                    _ => collect_pools(inner, key, named),
                }
            }
        }
        serde_json::Value::Array(all) => {
            all.iter().for_each(|one| collect_pools(one, parent, named));
        }
        _ => {}
    }
}

/// Other services of the text that name the pool.
fn services_using(text: &str, pool: &str, except: &str) -> Result<Vec<String>, PatchError> {
    let root = read_object(text, &ConfigObject::Root)?;
    let services = root.get("service").and_then(serde_json::Value::as_object);
    let is_user = |value: &serde_json::Value| {
        let mut named = Vec::new();
        collect_pools(value, "", &mut named);
        named.iter().any(|one| one == pool)
    };
    let others = services.into_iter().flatten().filter(|(name, _)| *name != except);
    Ok(others.filter(|(_, value)| is_user(value)).map(|(name, _)| name.clone()).collect())
}

/// Writes the names of the copies in place of those of the originals.
fn rename_pools(item: &mut Item, parent: &str, names: &BTreeMap<String, String>) {
    if let Item::Value(value) = item {
        return rename_in_value(value, parent, names);
    }
    if let Some(tables) = item.as_array_of_tables_mut() {
        tables.iter_mut().for_each(|table| rename_in_table(table, parent, names));
    } else if let Some(table) = item.as_table_like_mut() {
        rename_in_table(table, parent, names);
    }
}

fn rename_in_table(table: &mut dyn TableLike, parent: &str, names: &BTreeMap<String, String>) {
    for (key, item) in table.iter_mut() {
        let new_name = item.as_str().and_then(|pool| names.get(pool));
        match (names_pool(parent, key.get()), new_name, item.as_value_mut()) {
            (true, Some(name), Some(value)) => {
                let decor = value.decor().clone();
                *value = Node::from(name.as_str());
                *value.decor_mut() = decor;
            }
            _ => rename_pools(item, key.get(), names),
        }
    }
}

fn rename_in_value(value: &mut Node, parent: &str, names: &BTreeMap<String, String>) {
    match value {
        Node::Array(all) => all.iter_mut().for_each(|one| rename_in_value(one, parent, names)),
        Node::InlineTable(table) => rename_in_table(table, parent, names),
        _ => {}
    }
}

fn set_listen(table: &mut dyn TableLike, addresses: &[String]) {
    let value = match addresses {
        [] => return,
        [one] => Node::from(one.as_str()),
        many => Node::Array(many.iter().map(String::as_str).collect::<Array>()),
    };
    replace_value(table, "listen", value);
}

/// The text with a copy of the object under a new name. A copy of lines is appended; otherwise it stands beside the
/// original.
fn copy_object(
    text: &str,
    object: &ConfigObject,
    to: &str,
    change: impl Fn(&mut Item),
) -> Result<String, PatchError> {
    let lines = object_lines(text, object).and_then(|range| text.get(range));
    if let Some(lines) = lines
        && let Ok(copied) = copy_within(lines, object, to, true, &change)
    {
        let gap = if text.ends_with('\n') { "\n" } else { "\n\n" };
        return Ok([text, gap, copied.trim_start_matches(['\n', '\r'])].concat());
    }
    // For a missing object this returns an error that lists similar names.
    read_object(text, object)?;
    copy_within(text, object, to, false, &change)
}

/// Copies the object within a text, or, if it is to be `alone`, renames it.
fn copy_within(
    text: &str,
    object: &ConfigObject,
    to: &str,
    alone: bool,
    change: &impl Fn(&mut Item),
) -> Result<String, PatchError> {
    let mut file = parse_document(text)?;
    let (ConfigObject::Service(from) | ConfigObject::Pool(from)) = object else {
        return Err(PatchError::Form("an object that is neither a service nor a pool"));
    };
    let kind = if matches!(object, ConfigObject::Pool(_)) { "pool" } else { "service" };
    let cannot = || PatchError::Form("a form that cannot be edited");
    let all = file.get_mut(kind).and_then(Item::as_table_like_mut).ok_or_else(cannot)?;
    let found = if alone { all.remove(from) } else { all.get(from).cloned() };
    let mut item = found.ok_or_else(cannot)?;
    change(&mut item);
    if !alone {
        move_to_end(&mut item);
    }
    all.insert(to, item);
    Ok(file.to_string())
}

/// Tables keep the place of their original otherwise, and would be written between its tables.
fn move_to_end(item: &mut Item) {
    let move_table = |table: &mut Table| {
        table.set_position(isize::MAX);
        table.iter_mut().for_each(|entry| move_to_end(entry.1));
    };
    match item {
        Item::Table(table) => move_table(table),
        Item::ArrayOfTables(tables) => tables.iter_mut().for_each(move_table),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
