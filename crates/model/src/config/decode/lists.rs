//! Says where a list may stand for a table: where the key of its short form takes lists.

use super::super::schema::{Kind, Short, Table};

/// Whether a list may stand for this key of a table, and so for the table.
pub fn takes_lists(table: &'static Table, key: &str) -> bool {
    table.find(key).is_some_and(|(_, key)| several(&key.kind))
}

/// Whether a list of values may be written.
fn several(kind: &Kind) -> bool {
    match kind {
        Kind::WordList(_)
        | Kind::Texts { .. }
        | Kind::Lines { .. }
        | Kind::Listen
        | Kind::Addresses
        | Kind::AddressesOr(_)
        | Kind::Prefixes
        | Kind::Status
        | Kind::Files
        | Kind::List { .. } => true,
        Kind::Table { table, short: Short::Key(key), .. } => takes_lists(table, key),
        _ => false,
    }
}
