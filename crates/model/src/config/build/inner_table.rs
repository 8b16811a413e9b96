//! Reads an inner table of a section. It knows no key.

use super::super::section::ConfigSection;
use super::super::tables;

/// An inner table; the schema promises it, so an empty one stands for a missing one.
pub(super) fn read_inner_table<T>(
    section: &ConfigSection,
    key: &str,
    read: impl FnOnce(&ConfigSection) -> T,
) -> T {
    match section.table(key) {
        Some(inner) => read(inner),
        None => read(&ConfigSection::new(&tables::ROOT, section.span)),
    }
}
