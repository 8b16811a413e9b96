//! Finds settings without effect for the forwarding method of a service. The caller decides whether to report an error
//! or a warning.

use crate::config::schema::{DefaultValue, KeySchema, ValueKind};
use crate::config::section::{ConfigSection, ContentView};

/// Whether the service forwards packets.
pub fn forwards_packets(service: &ConfigSection) -> bool {
    matches!(service.text("forward"), Some("mac" | "nat" | "tunnel"))
}

/// Visits the keys written in this table for which `misfit` holds.
pub fn visit_unsupported_keys(
    section: &ConfigSection,
    path: &str,
    misfit: &dyn Fn(&KeySchema) -> bool,
    say: &mut dyn FnMut(&ConfigSection, &str, &str),
) {
    for key in section.keys() {
        let path = || format!("{path}.{}", key.name);
        if misfit(key) && section.is_written(key.name) {
            say(section, key.name, &path());
        } else if let (ValueKind::Table { .. }, Some(below)) = (&key.kind, section.table(key.name))
        {
            visit_unsupported_keys(below, &path(), misfit, say);
        }
    }
}

/// Keys written in this table with another value than their default, except the key `switch`. The output of `explain`
/// contains every default.
pub fn written_keys<'s>(
    section: &'s ConfigSection,
    switch: &'s str,
) -> impl Iterator<Item = &'static str> {
    let settings = section.settings().filter(move |(key, _)| key.name != switch);
    let said = settings.filter(|(key, setting)| match (&key.default, setting.content) {
        (DefaultValue::Literal(default), ContentView::Value(value)) => default != value,
        _ => true,
    });
    said.map(|(key, _)| key.name).filter(|name| section.is_written(name))
}

#[cfg(test)]
mod tests;
