//! Reads an inner table of a section. It knows no key.

use crate::config::schema::TableSchema;
use crate::config::section::ConfigSection;

static EMPTY: TableSchema =
    TableSchema { description: "an empty table", exclusive_groups: &[], keys: &[] };

/// Reads an inner table. The schema guarantees the table; an empty one replaces a missing one.
pub fn read_inner_table<T>(
    section: &ConfigSection,
    key: &str,
    read: impl FnOnce(&ConfigSection) -> T,
) -> T {
    match section.table(key) {
        Some(inner) => read(inner),
        None => read(&ConfigSection::new(&EMPTY, section.span)),
    }
}
