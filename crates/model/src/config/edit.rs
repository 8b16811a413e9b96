//! One order about a server, written into the text of a configuration with its comments and its form. Text in, text
//! out: whether the result is good is for `load`.

use std::borrow::Cow;

use toml::de::DeValue;
use toml_edit::{
    Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value as Node, value,
};

use super::address::ServerAddress;
use super::checked::Admin;
use super::decode::address;
use super::value::Value;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<'a> {
    /// The server's state.
    State(Admin),
    /// Its weight.
    Weight(u16),
    /// The server itself, with its weight where that is not the pool's.
    Add {
        /// Its address, as written.
        address: &'a str,
        /// Its weight.
        weight: Option<u16>,
    },
    /// The server is no more.
    Remove,
}

/// Why nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not TOML.
    #[error("the file is not TOML: {0}")]
    Syntax(String),
    /// The file has no such pool.
    #[error("the file has no table `[pool.{0}]`")]
    NoPool(String),
    /// The pool in the file has no such server.
    #[error("`servers` of `[pool.{pool}]` in the file has no server '{server}'")]
    NoServer {
        /// The pool.
        pool: String,
        /// The server.
        server: String,
    },
    /// The file writes servers in a form that is not known.
    #[error("`servers` of `[pool.{0}]` in the file is neither a list nor tables")]
    Form(String),
}

/// The text after the order. All that the order does not concern stays as it is.
///
/// # Errors
/// See `EditError`.
pub fn edit(text: &str, pool: &str, server: &str, edit: &Edit<'_>) -> Result<String, EditError> {
    let mut file: DocumentMut =
        text.parse().map_err(|e: toml_edit::TomlError| EditError::Syntax(e.message().into()))?;
    let no_pool = || EditError::NoPool(pool.to_owned());
    let tables = file.get_mut("pool").and_then(Item::as_table_like_mut).ok_or_else(no_pool)?;
    let table = tables.get_mut(pool).and_then(Item::as_table_like_mut).ok_or_else(no_pool)?;
    if matches!(edit, Edit::Add { .. }) && table.get("servers").is_none() {
        table.insert("servers", value(Array::new()));
    }
    let unknown = || EditError::NoServer { pool: pool.to_owned(), server: server.to_owned() };
    let servers = table.get_mut("servers").ok_or_else(unknown)?;
    if let Some(single) = servers.as_str().map(str::to_owned) {
        *servers = value(Array::from_iter([single]));
    }
    let found = match servers {
        Item::Value(Node::Array(list)) => in_list(list, server, edit),
        Item::ArrayOfTables(tables) => in_tables(tables, server, edit),
        _ => return Err(EditError::Form(pool.to_owned())),
    };
    if found { Ok(file.to_string()) } else { Err(unknown()) }
}

/// A server's address from its text.
///
/// # Errors
/// What is wrong with it, in a sentence.
pub fn server_address(text: &str) -> Result<ServerAddress, String> {
    match address::server(&DeValue::String(Cow::Borrowed(text))) {
        Ok(Value::Server(address)) => Ok(address),
        Ok(_) => Err(format!("'{text}' is not the address of a server")),
        Err(trouble) => Err(trouble.sentence()),
    }
}

/// The name that a server has when none is written.
pub fn name_from(of: &ServerAddress) -> String {
    address::name_from(of)
}

fn in_list(list: &mut Array, server: &str, edit: &Edit<'_>) -> bool {
    if let Edit::Add { address, weight } = edit {
        push(list, table_of(server, address, *weight));
        return true;
    }
    let Some(at) = list.iter().position(|node| is(node, server)) else { return false };
    if *edit == Edit::Remove {
        list.remove(at);
        return true;
    }
    let Some(node) = list.get_mut(at) else { return false };
    if let Some(address) = node.as_str().map(str::to_owned) {
        let mut table = InlineTable::new();
        table.insert("address", address.into());
        let decor = node.decor().clone();
        *node = Node::InlineTable(table);
        *node.decor_mut() = decor;
    }
    let Some(table) = node.as_inline_table_mut() else { return false };
    set(table, edit);
    table.fmt();
    true
}

fn in_tables(tables: &mut ArrayOfTables, server: &str, edit: &Edit<'_>) -> bool {
    if let Edit::Add { address, weight } = edit {
        let mut table = Table::new();
        for (key, node) in table_of(server, address, *weight) {
            table.insert(&key, Item::Value(node.decorated(" ", "")));
        }
        tables.push(table);
        return true;
    }
    let named = |table: &Table| named(table, server);
    let Some(at) = tables.iter().position(named) else { return false };
    match (edit, tables.get_mut(at)) {
        (Edit::Remove, _) => drop(tables.remove(at)),
        (_, Some(table)) => set(table, edit),
        (_, None) => return false,
    }
    true
}

/// A server's table with what was said of it.
fn set(table: &mut dyn TableLike, edit: &Edit<'_>) {
    match edit {
        Edit::State(Admin::Enabled) => drop(table.remove("state")),
        Edit::State(Admin::Drain) => put(table, "state", "drain".into()),
        Edit::State(Admin::Disabled) => put(table, "state", "disabled".into()),
        Edit::Weight(weight) => put(table, "weight", i64::from(*weight).into()),
        Edit::Add { .. } | Edit::Remove => {}
    }
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

fn table_of(server: &str, address: &str, weight: Option<u16>) -> InlineTable {
    let mut table = InlineTable::new();
    table.insert("name", server.into());
    table.insert("address", address.into());
    if let Some(weight) = weight {
        table.insert("weight", i64::from(weight).into());
    }
    table.fmt();
    table
}

/// Appends in the form of the list: one line an element where the list is written so.
fn push(list: &mut Array, table: InlineTable) {
    let text = |raw: Option<&toml_edit::RawString>| {
        raw.and_then(|raw| raw.as_str()).unwrap_or_default().to_owned()
    };
    let last = list.len().checked_sub(1);
    let before = last.and_then(|at| list.get(at)).map(|node| text(node.decor().prefix()));
    let indent = before.as_deref().and_then(|before| before.rfind('\n').map(|at| &before[at..]));
    let prefix = match (&indent, list.is_empty()) {
        (Some(indent), _) => (*indent).to_owned(),
        (None, true) => String::new(),
        (None, false) => " ".to_owned(),
    };
    let lines = indent.is_some();
    if let Some(node) = last.and_then(|at| list.get_mut(at)) {
        // Without a comma behind the last one, the line's end belongs to it.
        let after = text(node.decor().suffix());
        if lines && after.contains('\n') {
            node.decor_mut().set_suffix("");
            list.set_trailing(after);
        }
    }
    let mut node = Node::InlineTable(table);
    *node.decor_mut() = toml_edit::Decor::new(prefix, "");
    list.push_formatted(node);
}

fn is(node: &Node, server: &str) -> bool {
    match node {
        Node::String(address) => derived(address.value()).as_deref() == Some(server),
        Node::InlineTable(table) => named(table, server),
        _ => false,
    }
}

fn named(table: &dyn TableLike, server: &str) -> bool {
    let text = |key: &str| table.get(key).and_then(Item::as_str);
    match text("name") {
        Some(name) => name == server,
        None => text("address").and_then(derived).as_deref() == Some(server),
    }
}

/// The name that an address gives.
pub(super) fn derived(address: &str) -> Option<String> {
    server_address(address).ok().map(|address| name_from(&address))
}
