//! Applies one server command to the text of a configuration and preserves its comments and formatting. It processes
//! only text; `load` checks the result.

use std::borrow::Cow;

use toml::de::DeValue;
use toml_edit::{
    Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value as Node, value,
};

use super::address::ServerAddress;
use super::admin_state::AdminState;
use super::decode::address;
use super::syntax_message::syntax_message;
use super::value::ConfigValue;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEdit<'a> {
    State(AdminState),
    Weight(u16),
    /// Add the server, with its weight if it differs from the pool's.
    Add {
        /// The address as written.
        address: &'a str,
        weight: Option<u16>,
    },
    /// Remove the server.
    Remove,
}

/// Why the text was not changed.
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
        pool: String,
        /// The name of the missing server.
        server: String,
    },
    /// The file has `servers` in an unknown form.
    #[error("`servers` of `[pool.{0}]` in the file is neither a list nor tables")]
    Form(String),
}

/// The text after the command. All unrelated text stays unchanged.
///
/// # Errors
/// See `EditError`.
pub fn edit_server(
    text: &str,
    pool: &str,
    server: &str,
    edit: &ServerEdit<'_>,
) -> Result<String, EditError> {
    let mut file: DocumentMut = text
        .parse()
        .map_err(|e: toml_edit::TomlError| EditError::Syntax(syntax_message(e.message())))?;
    let no_pool = || EditError::NoPool(pool.to_owned());
    let tables = file.get_mut("pool").and_then(Item::as_table_like_mut).ok_or_else(no_pool)?;
    let table = tables.get_mut(pool).and_then(Item::as_table_like_mut).ok_or_else(no_pool)?;
    if matches!(edit, ServerEdit::Add { .. }) && table.get("servers").is_none() {
        table.insert("servers", value(Array::new()));
    }
    let unknown = || EditError::NoServer { pool: pool.to_owned(), server: server.to_owned() };
    let servers = table.get_mut("servers").ok_or_else(unknown)?;
    if let Some(single) = servers.as_str().map(str::to_owned) {
        *servers = value(Array::from_iter([single]));
    }
    let found = match servers {
        Item::Value(Node::Array(list)) => edit_inline_list(list, server, edit),
        Item::ArrayOfTables(tables) => edit_table_array(tables, server, edit),
        _ => return Err(EditError::Form(pool.to_owned())),
    };
    if found { Ok(file.to_string()) } else { Err(unknown()) }
}

/// Parses a server's address.
///
/// # Errors
/// A sentence about the mistake.
pub fn parse_server_address(text: &str) -> Result<ServerAddress, String> {
    match address::decode_server_address(&DeValue::String(Cow::Borrowed(text))) {
        Ok(ConfigValue::Server(address)) => Ok(address),
        Ok(_) => Err(format!("'{text}' is not the address of a server")),
        Err(trouble) => Err(trouble.to_sentence()),
    }
}

/// The default name of a server.
pub fn server_name(of: &ServerAddress) -> String {
    address::derive_server_name(of)
}

fn edit_inline_list(list: &mut Array, server: &str, edit: &ServerEdit<'_>) -> bool {
    if let ServerEdit::Add { address, weight } = edit {
        push_server(list, server_table(server, address, *weight));
        return true;
    }
    let Some(at) = list.iter().position(|node| is_server(node, server)) else { return false };
    if *edit == ServerEdit::Remove {
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
    apply_edit(table, edit);
    table.fmt();
    true
}

fn edit_table_array(tables: &mut ArrayOfTables, server: &str, edit: &ServerEdit<'_>) -> bool {
    if let ServerEdit::Add { address, weight } = edit {
        let mut table = Table::new();
        for (key, node) in server_table(server, address, *weight) {
            table.insert(&key, Item::Value(node.decorated(" ", "")));
        }
        tables.push(table);
        return true;
    }
    let named = |table: &Table| has_name(table, server);
    let Some(at) = tables.iter().position(named) else { return false };
    match (edit, tables.get_mut(at)) {
        (ServerEdit::Remove, _) => drop(tables.remove(at)),
        (_, Some(table)) => apply_edit(table, edit),
        (_, None) => return false,
    }
    true
}

/// Applies the edit to a server's table.
fn apply_edit(table: &mut dyn TableLike, edit: &ServerEdit<'_>) {
    match edit {
        ServerEdit::State(AdminState::Enabled) => drop(table.remove("state")),
        ServerEdit::State(AdminState::Drain) => replace_value(table, "state", "drain".into()),
        ServerEdit::State(AdminState::Disabled) => replace_value(table, "state", "disabled".into()),
        ServerEdit::Weight(weight) => replace_value(table, "weight", i64::from(*weight).into()),
        ServerEdit::Add { .. } | ServerEdit::Remove => {}
    }
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

fn server_table(server: &str, address: &str, weight: Option<u16>) -> InlineTable {
    let mut table = InlineTable::new();
    table.insert("name", server.into());
    table.insert("address", address.into());
    if let Some(weight) = weight {
        table.insert("weight", i64::from(weight).into());
    }
    table.fmt();
    table
}

/// Appends an element in the formatting of the list: on its own line if the list is written so.
fn push_server(list: &mut Array, table: InlineTable) {
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
        // Without a comma after the last element, the line break belongs to that element.
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

fn is_server(node: &Node, server: &str) -> bool {
    match node {
        Node::String(address) => name_from_address(address.value()).as_deref() == Some(server),
        Node::InlineTable(table) => has_name(table, server),
        _ => false,
    }
}

fn has_name(table: &dyn TableLike, server: &str) -> bool {
    let text = |key: &str| table.get(key).and_then(Item::as_str);
    match text("name") {
        Some(name) => name == server,
        None => text("address").and_then(name_from_address).as_deref() == Some(server),
    }
}

/// The default name for an address.
pub(super) fn name_from_address(address: &str) -> Option<String> {
    parse_server_address(address).ok().map(|address| server_name(&address))
}
