//! Decides where a list may be written instead of a table: if the key of the short form accepts lists.

use super::super::schema::{TableSchema, TableShorthand, ValueKind};

/// Whether this key of a table accepts a list, and so the table does.
pub fn accepts_list(table: &'static TableSchema, key: &str) -> bool {
    table.find(key).is_some_and(|found| is_list_kind(&found.key.kind))
}

/// Whether the kind accepts a list of values.
fn is_list_kind(kind: &ValueKind) -> bool {
    match kind {
        ValueKind::KeywordList(_)
        | ValueKind::Texts { .. }
        | ValueKind::Lines { .. }
        | ValueKind::Listen
        | ValueKind::Addresses
        | ValueKind::AddressesOr(_)
        | ValueKind::Prefixes
        | ValueKind::PrefixesOrFiles
        | ValueKind::Status
        | ValueKind::Files
        | ValueKind::List { .. } => true,
        ValueKind::Table { table, short: TableShorthand::Key(key), .. } => accepts_list(table, key),
        _ => false,
    }
}
