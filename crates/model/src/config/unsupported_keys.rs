//! Finds settings without effect for the forwarding method of a service. Whether that is an error or a warning is the caller's decision.

use crate::config::schema::{DefaultValue, KeySchema, ValueKind};
use crate::config::section::{ConfigSection, SettingContent};

/// Whether a service's method carries packets.
pub fn forwards_packets(service: &ConfigSection) -> bool {
    matches!(service.text("forward"), Some("mac" | "nat" | "tunnel"))
}

/// Visit the keys that were written right here and that `misfit` names.
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

/// Keys that were written right here and say something else than their default, the one that switches the table aside.
/// An explanation writes every default out.
pub fn written_keys<'s>(
    section: &'s ConfigSection,
    switch: &'s str,
) -> impl Iterator<Item = &'static str> {
    let settings = section.settings().filter(move |(key, _)| key.name != switch);
    let said = settings.filter(|(key, setting)| match (&key.default, &setting.content) {
        (DefaultValue::Literal(default), SettingContent::Value(value)) => default != value,
        _ => true,
    });
    said.map(|(key, _)| key.name).filter(|name| section.is_written(name))
}

#[cfg(test)]
mod tests;
