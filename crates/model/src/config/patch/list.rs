//! Replaces the elements of a list. Unchanged elements keep their formatting and comments; elements with the same name
//! keep as much as possible.
//!
//! It patches only tables of the list.

use serde_json::{Map, Value};
use toml_edit::{Array, ArrayOfTables, Item, Table, TableLike, Value as Node, value};

use super::json_to_toml::{PatchError, element_name, to_toml_value};
use crate::config::toml_tree::merge_patch_between;

/// Writes a patch into a table of the list.
type MergeTable = fn(&mut dyn TableLike, &Map<String, Value>, &str) -> Result<(), PatchError>;

/// The list with the new elements, in the formatting of the old one.
pub(super) fn patch_list(
    old: Option<&Item>,
    new: &[Value],
    path: &str,
    merge: MergeTable,
) -> Result<Item, PatchError> {
    match old {
        // Without elements there would be no header and thus no list.
        Some(Item::ArrayOfTables(tables))
            if !new.is_empty() && new.iter().all(Value::is_object) =>
        {
            patch_table_array(tables, new, path, merge).map(Item::ArrayOfTables)
        }
        Some(Item::Value(Node::Array(array))) => patch_array(array, new, path, merge).map(value),
        _ => patch_array(&Array::new(), new, path, merge).map(value),
    }
}

fn patch_array(
    old: &Array,
    new: &[Value],
    path: &str,
    merge: MergeTable,
) -> Result<Array, PatchError> {
    let plain: Vec<Value> = old.iter().map(array_value_to_json).collect();
    let mut free: Vec<bool> = vec![true; plain.len()];
    let style = old.get(old.len().saturating_sub(1)).map(|last| last.decor().clone());
    let mut made = old.clone();
    made.clear();
    for (at, element) in new.iter().enumerate() {
        let place = format!("{path}[{at}]");
        let from = find_same_element(&plain, &mut free, at, element, new.len());
        let mut next = match from.and_then(|from| Some((from, old.get(from)?))) {
            Some((from, kept)) if plain.get(from) == Some(element) => kept.clone(),
            Some((from, kept)) => patch_element(kept, plain.get(from), element, &place, merge)?,
            None => {
                let mut next = to_toml_value(element, &place)?;
                match &style {
                    Some(style) => {
                        let prefix = style.prefix().and_then(|it| it.as_str()).unwrap_or_default();
                        // A comment that precedes another element must not be copied to this one.
                        let from = prefix.rfind('\n').unwrap_or(0);
                        let prefix = prefix.get(from..).unwrap_or_default();
                        *next.decor_mut() = toml_edit::Decor::new(prefix, "");
                    }
                    None if at > 0 => *next.decor_mut() = toml_edit::Decor::new(" ", ""),
                    None => {}
                }
                next
            }
        };
        if at == 0 && from != Some(0) {
            let prefix = old.get(0).and_then(|first| first.decor().prefix().cloned());
            if let Some(prefix) = prefix.filter(|_| !has_comment(&next)) {
                next.decor_mut().set_prefix(prefix);
            }
        } else if at > 0 && from == Some(0) && !has_lines(&next) {
            next.decor_mut().set_prefix(" ");
        }
        made.push_formatted(next);
    }
    Ok(made)
}

/// An element with the same name and other keys, in its old formatting.
fn patch_element(
    kept: &Node,
    before: Option<&Value>,
    element: &Value,
    path: &str,
    merge: MergeTable,
) -> Result<Node, PatchError> {
    let mut next = kept.clone();
    let was = before.filter(|it| it.is_object());
    match (was.map(|was| merge_patch_between(was, element)), next.as_inline_table_mut()) {
        (Some(Value::Object(keys)), Some(table)) => {
            merge(table, &keys, path)?;
            table.fmt();
        }
        _ => {
            next = to_toml_value(element, path)?;
            *next.decor_mut() = kept.decor().clone();
        }
    }
    Ok(next)
}

fn patch_table_array(
    old: &ArrayOfTables,
    new: &[Value],
    path: &str,
    merge: MergeTable,
) -> Result<ArrayOfTables, PatchError> {
    let plain: Vec<Value> = old.iter().map(table_to_json).collect();
    let mut free: Vec<bool> = vec![true; plain.len()];
    let mut made = ArrayOfTables::new();
    for (at, element) in new.iter().enumerate() {
        let from = find_same_element(&plain, &mut free, at, element, new.len());
        let mut table = from.and_then(|from| old.get(from)).cloned().unwrap_or_else(Table::new);
        let empty = Value::Object(Map::new());
        let before = from.and_then(|from| plain.get(from)).unwrap_or(&empty);
        if let Value::Object(keys) = merge_patch_between(before, element) {
            merge(&mut table, &keys, &format!("{path}[{at}]"))?;
        }
        made.push(table);
    }
    Ok(made)
}

/// Finds the old version of an element: an equal one, otherwise one with the same name. In a list of unchanged length,
/// an element without a name corresponds to the one in its position. Each old element is used once.
fn find_same_element(
    old: &[Value],
    free: &mut [bool],
    at: usize,
    new: &Value,
    all: usize,
) -> Option<usize> {
    let is_free = |at: &usize| free.get(*at) == Some(&true);
    let equal = (0..old.len()).filter(is_free).find(|at| old.get(*at) == Some(new));
    let named = || {
        let name = element_name(new)?;
        let same = |at: &usize| old.get(*at).and_then(element_name).as_ref() == Some(&name);
        (0..old.len()).filter(is_free).find(same)
    };
    let nameless = |value: Option<&Value>| value.is_some_and(|it| element_name(it).is_none());
    let in_place = || {
        let same = all == old.len() && nameless(Some(new)) && nameless(old.get(at));
        Some(at).filter(|_| same).filter(is_free)
    };
    let found = equal.or_else(named).or_else(in_place)?;
    if let Some(room) = free.get_mut(found) {
        *room = false;
    }
    Some(found)
}

fn has_lines(node: &Node) -> bool {
    node.decor().prefix().and_then(|it| it.as_str()).is_some_and(|prefix| prefix.contains('\n'))
}

fn has_comment(node: &Node) -> bool {
    node.decor().prefix().and_then(|it| it.as_str()).is_some_and(|prefix| prefix.contains('#'))
}

fn array_value_to_json(node: &Node) -> Value {
    match node {
        Node::String(text) => Value::from(text.value().as_str()),
        Node::Integer(whole) => Value::from(*whole.value()),
        Node::Float(part) => Value::from(*part.value()),
        Node::Boolean(flag) => Value::from(*flag.value()),
        Node::Datetime(time) => Value::from(time.value().to_string()),
        Node::Array(array) => array.iter().map(array_value_to_json).collect(),
        Node::InlineTable(table) => Value::Object(
            table.iter().map(|(key, inner)| (key.to_owned(), array_value_to_json(inner))).collect(),
        ),
    }
}

fn table_to_json(table: &Table) -> Value {
    let item = |item: &Item| match item {
        Item::Value(node) => array_value_to_json(node),
        Item::Table(table) => table_to_json(table),
        Item::ArrayOfTables(tables) => tables.iter().map(table_to_json).collect(),
        Item::None => Value::Null,
    };
    Value::Object(table.iter().map(|(key, inner)| (key.to_owned(), item(inner))).collect())
}
