//! Finds settings that mean nothing for the method at hand. What that weighs, the caller says.

use super::super::schema::{Kind, Table};
use super::super::section::Section;

/// Visit the keys for `http` alone that were written right here.
pub fn http_only(
    table: &'static Table,
    section: &Section,
    path: &str,
    say: &mut dyn FnMut(&Section, &str, &str),
) {
    for key in table.keys {
        let path = format!("{path}.{}", key.name);
        if key.http_only && section.wrote(key.name) {
            say(section, key.name, &path);
        } else if let (Kind::Table { table: inner, .. }, Some(below)) =
            (&key.kind, section.table(key.name))
        {
            http_only(inner, below, &path, say);
        }
    }
}
