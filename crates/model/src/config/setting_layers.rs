//! Resolves one table from the layers where its settings may be written, nearest first.

use crate::config::schema::{DefaultValue, KeySchema, TableSchema, ValueKind};
use crate::config::section::{ConfigSection, Setting, SettingContent, SettingOrigin};

/// A top-level table that inherits nothing.
pub fn resolve_top_table(table: &'static TableSchema, written: &ConfigSection) -> ConfigSection {
    let mut section = resolve_layers(table, &[SettingLayer::own(written)], false);
    section.name.clone_from(&written.name);
    section
}

/// One table where a setting may be written; a chain has the nearest first.
#[derive(Clone, Copy, Debug)]
pub struct SettingLayer<'a> {
    section: &'a ConfigSection,
    tier: LayerTier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerTier {
    Own,
    Global,
    Pool,
}

pub fn layers<'a>(
    own: &'a ConfigSection,
    above: &'a ConfigSection,
    tier: LayerTier,
) -> [SettingLayer<'a>; 2] {
    [SettingLayer::own(own), SettingLayer { section: above, tier }]
}

/// The settings of one table from its layers. `inside`: within an inherited table, where every key is inherited.
pub fn resolve_layers(
    table: &'static TableSchema,
    chain: &[SettingLayer<'_>],
    inside: bool,
) -> ConfigSection {
    let place = chain.first().map(|layer| layer.section.span).unwrap_or_default();
    let mut section = ConfigSection::with_defaults(table, place);
    for (at, key) in table.keys.iter().enumerate() {
        let own = chain.first().filter(|layer| layer.tier == LayerTier::Own);
        let seen = if inside || key.inherits {
            chain
        } else {
            own.map(std::slice::from_ref).unwrap_or_default()
        };
        let setting = match &key.kind {
            ValueKind::Refused(_) => None,
            ValueKind::Table { table: inner, .. } => resolve_inner_table(key, inner, seen),
            _ => resolve_value(table, key, seen),
        };
        if let Some(Setting { content: slot, origin }) = setting {
            section.set_slot(at, slot, origin);
        }
    }
    clear_expired_crl(table, &mut section);
    section.shrink();
    section
}

/// Takes the default of `expired-crl` away where there are no revocation lists.
fn clear_expired_crl(table: &TableSchema, section: &mut ConfigSection) {
    let has_key = table.keys.iter().any(|key| key.name == "expired-crl");
    if has_key && section.setting("crl").is_none() && !section.is_written("expired-crl") {
        section.clear("expired-crl");
    }
}

fn resolve_value(
    table: &TableSchema,
    key: &KeySchema,
    chain: &[SettingLayer<'_>],
) -> Option<Setting> {
    for (at, layer) in chain.iter().enumerate() {
        if let Some(setting) = layer.section.stored_setting(key.name) {
            let origin = layer.origin(setting);
            if let (ValueKind::List { table, .. }, SettingContent::List(list)) =
                (&key.kind, &setting.content)
                && !key.elements_inherit
            {
                // A list's elements are resolved by the module that knows their layers.
                let own = |one| [SettingLayer { section: one, tier: layer.tier }];
                let list = list.iter().map(|one| resolve_layers(table, &own(one), true)).collect();
                return Some(Setting { content: SettingContent::List(list), origin });
            }
            return Some(Setting { content: setting.content.clone(), origin });
        }
        if at + 1 == chain.len() {
            break;
        }
        // A nearer key of another exclusive group hides keys from farther layers.
        let rivals = table
            .exclusive_groups
            .iter()
            .filter(|group| !group.contains(&key.name))
            .flat_map(|group| group.iter());
        let is_choice = table.exclusive_groups.iter().any(|group| group.contains(&key.name));
        if is_choice
            && rivals.into_iter().any(|rival| layer.section.stored_setting(rival).is_some())
        {
            break;
        }
    }
    None
}

fn resolve_inner_table(
    key: &KeySchema,
    inner: &'static TableSchema,
    chain: &[SettingLayer<'_>],
) -> Option<Setting> {
    let mut below: Vec<SettingLayer<'_>> = Vec::new();
    let mut origin = SettingOrigin::Default;
    for layer in chain {
        let Some(setting) = layer.section.stored_setting(key.name) else { continue };
        match &setting.content {
            SettingContent::Table(section) => {
                if below.is_empty() {
                    origin = layer.origin(setting);
                }
                below.push(SettingLayer { section, tier: layer.tier });
            }
            // A nearest `off` wins; a farther `off` ends the inheritance of a nearer table.
            slot if below.is_empty() => {
                return Some(Setting { content: slot.clone(), origin: layer.origin(setting) });
            }
            _ => break,
        }
    }
    if below.is_empty() && !matches!(key.default, DefaultValue::Inner) {
        return None;
    }
    let table = Box::new(resolve_layers(inner, &below, true));
    Some(Setting { content: SettingContent::Table(table), origin })
}

impl<'a> SettingLayer<'a> {
    /// The layer of the table itself.
    pub fn own(section: &'a ConfigSection) -> SettingLayer<'a> {
        SettingLayer { section, tier: LayerTier::Own }
    }

    fn origin(&self, setting: &Setting) -> SettingOrigin {
        let place = setting.origin.span().unwrap_or_default();
        match self.tier {
            LayerTier::Own => SettingOrigin::Written(place),
            LayerTier::Global => SettingOrigin::Global(place),
            LayerTier::Pool => SettingOrigin::Pool(place),
        }
    }
}
