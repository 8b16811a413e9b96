//! Finds settings that mean nothing for the method at hand. What that weighs, the caller says.

use super::super::schema::{Fallback, Key, Kind, Table};
use super::super::section::{Section, Slot};

/// Whether a service's method carries packets.
pub fn forwards_packets(service: &Section) -> bool {
    matches!(service.text("forward"), Some("mac" | "nat" | "tunnel"))
}

/// Visit the keys that were written right here and that `misfit` names.
pub fn misfits(
    table: &'static Table,
    section: &Section,
    path: &str,
    misfit: &dyn Fn(&Key) -> bool,
    say: &mut dyn FnMut(&Section, &str, &str),
) {
    for key in table.keys {
        let path = || format!("{path}.{}", key.name);
        if misfit(key) && section.wrote(key.name) {
            say(section, key.name, &path());
        } else if let (Kind::Table { table: inner, .. }, Some(below)) =
            (&key.kind, section.table(key.name))
        {
            misfits(inner, below, &path(), misfit, say);
        }
    }
}

/// Keys that were written right here and say something else than their default, the one that switches the table aside.
/// An explanation writes every default out.
pub fn set_here<'s>(section: &'s Section, switch: &'s str) -> impl Iterator<Item = &'static str> {
    let settings = section.settings().filter(move |(key, _)| key.name != switch);
    let said = settings.filter(|(key, setting)| match (&key.default, &setting.slot) {
        (Fallback::Is(default), Slot::Value(value)) => default != value,
        _ => true,
    });
    said.map(|(key, _)| key.name).filter(|name| section.wrote(name))
}

#[cfg(test)]
mod tests;
