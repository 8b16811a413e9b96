//! Reads an inner table of a section. It knows no key.

use super::super::section::Section;
use super::super::tables;

/// An inner table; the schema promises it, so an empty one stands for a missing one.
pub(super) fn inner<T>(section: &Section, key: &str, read: impl FnOnce(&Section) -> T) -> T {
    match section.table(key) {
        Some(inner) => read(inner),
        None => read(&Section::new(&tables::ROOT, section.place)),
    }
}
