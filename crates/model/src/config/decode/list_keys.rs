//! Says where a list may stand for a table: where the key of its short form takes lists.

use super::super::schema::{TableSchema, TableShorthand, ValueKind};

/// Whether a list may stand for this key of a table, and so for the table.
pub fn accepts_list(table: &'static TableSchema, key: &str) -> bool {
    table.find(key).is_some_and(|(_, key)| is_list_kind(&key.kind))
}

/// Whether a list of values may be written.
fn is_list_kind(kind: &ValueKind) -> bool {
    match kind {
        ValueKind::KeywordList(_)
        | ValueKind::Texts { .. }
        | ValueKind::Lines { .. }
        | ValueKind::Listen
        | ValueKind::Addresses
        | ValueKind::AddressesOr(_)
        | ValueKind::Prefixes
        | ValueKind::Status
        | ValueKind::Files
        | ValueKind::List { .. } => true,
        ValueKind::Table { table, short: TableShorthand::Key(key), .. } => accepts_list(table, key),
        _ => false,
    }
}
