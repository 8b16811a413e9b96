//! A table of the file with its settings: as written (made by `decode`) or effective (made by `resolve`).
//!
//! Each setting has its origin. The section relies on the schema for types: reading a key as another type returns that
//! type's empty value.

use super::schema::{DefaultValue, KeySchema, TableSchema, ValueKind};
use super::source_text::SourceSpan;
use super::value::ConfigValue;

pub use super::setting_origin::SettingOrigin;

/// A table with its settings. Defaults are not stored: they are the schema's own, so that a large file with few settings
/// in each table stays small in memory.
#[derive(Clone, Debug)]
pub struct ConfigSection {
    /// The name of a service, pool or other named table.
    pub name: String,
    pub span: SourceSpan,
    keys: &'static [KeySchema],
    /// Settings that differ from the default, in the schema's order.
    slots: Vec<SettingSlot>,
    /// Whether an absent key has its default: effective sections have defaults, written ones do not.
    has_defaults: bool,
    /// Positions of keys whose default was taken away.
    cleared: Vec<u16>,
}

/// A list that goes on in another part of the file: `rule` of `[[service.a.rule]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContinuedList<'t> {
    /// The key of the tables by name: `service`.
    pub table: &'t str,
    /// The table's name: `a`.
    pub name: &'t str,
    pub list: &'t str,
}

/// A setting at a key's position in the schema.
#[derive(Clone, Debug)]
struct SettingSlot {
    at: usize,
    setting: Setting,
}

/// A setting and its origin.
#[derive(Clone, Debug)]
pub struct Setting {
    pub content: SettingContent,
    pub origin: SettingOrigin,
}

#[derive(Clone, Debug)]
pub enum SettingContent {
    Value(ConfigValue),
    /// Apart, since most settings are plain values and should not need its room.
    Table(Box<ConfigSection>),
    /// A list of tables, or tables by name.
    List(Vec<ConfigSection>),
    /// A faulty value that has been reported.
    Invalid,
}

/// A setting where it stands: in the section, or in the schema as the key's default.
#[derive(Clone, Copy, Debug)]
pub struct SettingView<'a> {
    pub content: ContentView<'a>,
    pub origin: SettingOrigin,
}

#[derive(Clone, Copy, Debug)]
pub enum ContentView<'a> {
    Value(&'a ConfigValue),
    Table(&'a ConfigSection),
    List(&'a [ConfigSection]),
    Invalid,
}

impl Setting {
    fn view(&self) -> SettingView<'_> {
        let content = match &self.content {
            SettingContent::Value(value) => ContentView::Value(value),
            SettingContent::Table(section) => ContentView::Table(section),
            SettingContent::List(list) => ContentView::List(list),
            SettingContent::Invalid => ContentView::Invalid,
        };
        SettingView { content, origin: self.origin }
    }
}

impl ConfigSection {
    pub fn new(table: &'static TableSchema, place: SourceSpan) -> ConfigSection {
        ConfigSection {
            name: String::new(),
            span: place,
            keys: table.keys,
            slots: Vec::new(),
            has_defaults: false,
            cleared: Vec::new(),
        }
    }

    /// A section whose absent keys have their defaults.
    pub fn with_defaults(table: &'static TableSchema, place: SourceSpan) -> ConfigSection {
        ConfigSection { has_defaults: true, ..ConfigSection::new(table, place) }
    }

    /// Sets the slot at a position of the schema.
    pub fn set_slot(&mut self, at: usize, slot: SettingContent, origin: SettingOrigin) {
        if at >= self.keys.len() {
            return;
        }
        let setting = Setting { content: slot, origin };
        match self.place_of(at) {
            Ok(place) => {
                if let Some(slot) = self.slots.get_mut(place) {
                    slot.setting = setting;
                }
            }
            Err(place) => self.slots.insert(place, SettingSlot { at, setting }),
        }
    }

    /// The place of a key's slot, or where it would have to be inserted.
    fn place_of(&self, at: usize) -> Result<usize, usize> {
        self.slots.binary_search_by_key(&at, |slot| slot.at)
    }

    /// Takes over the settings of another part of the same table. `continued` is the list that goes on in that
    /// part. False if the parts have another key in common than for tables by name.
    pub fn absorb(&mut self, other: ConfigSection, continued: Option<ContinuedList<'_>>) -> bool {
        for slot in other.slots {
            let place = match self.place_of(slot.at) {
                Ok(place) => place,
                Err(place) => {
                    self.slots.insert(place, slot);
                    continue;
                }
            };
            let kind = self.keys.get(slot.at).map(|key| &key.kind);
            let own = self.slots.get_mut(place).map(|own| &mut own.setting.content);
            let (
                Some(ValueKind::Named { .. }),
                Some(SettingContent::List(own)),
                SettingContent::List(mut more),
            ) = (kind, own, slot.setting.content)
            else {
                return false;
            };
            let key = self.keys.get(slot.at).map_or("", |key| key.name);
            if let Some(continued) = continued.filter(|continued| continued.table == key)
                && let Some(own) = own.iter_mut().find(|part| part.name == continued.name)
                && let Some(at) = more.iter().position(|part| part.name == continued.name)
                && !own.extend_list(more.remove(at), continued.list)
            {
                return false;
            }
            own.extend(more);
        }
        true
    }

    /// Takes over the elements of a list that both parts have, and what only the other part has. False if the parts have
    /// another key in common.
    fn extend_list(&mut self, other: ConfigSection, list: &str) -> bool {
        other.slots.into_iter().all(|slot| {
            let is_list = self.keys.get(slot.at).is_some_and(|key| key.name == list);
            let place = match self.place_of(slot.at) {
                Ok(place) => place,
                Err(place) => {
                    self.slots.insert(place, slot);
                    return true;
                }
            };
            let own = self.slots.get_mut(place).map(|own| &mut own.setting.content);
            match (own, slot.setting.content) {
                (Some(SettingContent::List(own)), SettingContent::List(more)) if is_list => {
                    own.extend(more);
                    true
                }
                _ => false,
            }
        })
    }

    /// Sorts the tables of each key by name, as the parser of a whole file does. False if two have the same name, or if a
    /// key has more of them than it may have.
    pub fn sort_named_tables(&mut self) -> bool {
        self.slots.iter_mut().all(|slot| {
            let kind = self.keys.get(slot.at).map(|key| &key.kind);
            match (kind, &mut slot.setting.content) {
                (Some(ValueKind::Named { most, .. }), SettingContent::List(list)) => {
                    list.sort_by(|a, b| a.name.cmp(&b.name));
                    let is_repeated = list.windows(2).any(|pair| pair[0].name == pair[1].name);
                    !is_repeated && list.len() <= *most
                }
                _ => true,
            }
        })
    }

    /// Gives back memory that a finished section does not need.
    pub fn shrink(&mut self) {
        self.slots.shrink_to_fit();
        self.cleared.shrink_to_fit();
    }

    pub fn set(&mut self, key: &str, value: ConfigValue, origin: SettingOrigin) {
        if let Some(at) = self.position(key) {
            self.set_slot(at, SettingContent::Value(value), origin);
        }
    }

    pub fn keys(&self) -> &'static [KeySchema] {
        self.keys
    }

    pub fn set_table(&mut self, key: &str, table: ConfigSection, origin: SettingOrigin) {
        if let Some(at) = self.position(key) {
            self.set_slot(at, SettingContent::Table(Box::new(table)), origin);
        }
    }

    pub fn clear(&mut self, key: &str) {
        let Some(at) = self.position(key) else { return };
        if let Ok(place) = self.place_of(at) {
            self.slots.remove(place);
        }
        let default = self.keys.get(at).map(|key| &key.default);
        if let (Some(DefaultValue::Literal(_)), Ok(at)) = (default, u16::try_from(at))
            && self.has_defaults
            && !self.cleared.contains(&at)
        {
            self.cleared.push(at);
        }
    }

    pub fn setting(&self, key: &str) -> Option<SettingView<'_>> {
        match self.stored_setting(key) {
            Some(setting) => Some(setting.view()),
            None if self.has_defaults => self.setting_at(self.position(key)?),
            None => None,
        }
    }

    fn setting_at(&self, at: usize) -> Option<SettingView<'_>> {
        if let Ok(place) = self.place_of(at) {
            return self.slots.get(place).map(|slot| slot.setting.view());
        }
        let is_cleared = || self.cleared.iter().any(|cleared| usize::from(*cleared) == at);
        match &self.keys.get(at)?.default {
            DefaultValue::Literal(value) if self.has_defaults && !is_cleared() => {
                let content = ContentView::Value(value);
                Some(SettingView { content, origin: SettingOrigin::Default })
            }
            _ => None,
        }
    }

    /// A setting that is stored in this section, so no default.
    pub fn stored_setting(&self, key: &str) -> Option<&Setting> {
        // A table has far fewer settings than its schema has keys.
        let mut slots = self.slots.iter();
        slots.find(|slot| has_name(self.keys, slot, key)).map(|slot| &slot.setting)
    }

    fn setting_mut(&mut self, key: &str) -> Option<&mut Setting> {
        let mut slots = self.slots.iter_mut();
        slots.find(|slot| has_name(self.keys, slot, key)).map(|slot| &mut slot.setting)
    }

    /// All settings with their keys, in the schema's order.
    pub fn settings(&self) -> impl Iterator<Item = (&'static KeySchema, SettingView<'_>)> {
        let keys = self.keys.iter().enumerate();
        keys.filter_map(|(at, key)| Some((key, self.setting_at(at)?)))
    }

    /// Whether the key is written in this table.
    pub fn is_written(&self, key: &str) -> bool {
        matches!(self.setting(key), Some(SettingView { origin: SettingOrigin::Written(_), .. }))
    }

    /// Whether the key's value is faulty; then no further finding about it is useful.
    pub fn is_invalid(&self, key: &str) -> bool {
        matches!(self.setting(key), Some(SettingView { content: ContentView::Invalid, .. }))
    }

    /// The place of the key, or of the section if the key is not written.
    pub fn span_of(&self, key: &str) -> SourceSpan {
        self.setting(key).and_then(|setting| setting.origin.span()).unwrap_or(self.span)
    }

    pub fn value(&self, key: &str) -> Option<&ConfigValue> {
        match self.setting(key)?.content {
            ContentView::Value(value) => Some(value),
            _ => None,
        }
    }

    pub fn table(&self, key: &str) -> Option<&ConfigSection> {
        match self.setting(key)?.content {
            ContentView::Table(section) => Some(section),
            _ => None,
        }
    }

    pub fn table_mut(&mut self, key: &str) -> Option<&mut ConfigSection> {
        match &mut self.setting_mut(key)?.content {
            SettingContent::Table(section) => Some(section),
            _ => None,
        }
    }

    /// The list of a key; empty if absent.
    pub fn list(&self, key: &str) -> &[ConfigSection] {
        match self.setting(key).map(|setting| setting.content) {
            Some(ContentView::List(list)) => list,
            _ => &[],
        }
    }

    /// Takes the list of a key out of the section; empty if absent.
    pub fn take_list(&mut self, key: &str) -> Vec<ConfigSection> {
        match self.setting_mut(key).map(|setting| &mut setting.content) {
            Some(SettingContent::List(list)) => std::mem::take(list),
            _ => Vec::new(),
        }
    }

    pub fn list_mut(&mut self, key: &str) -> Option<&mut [ConfigSection]> {
        match &mut self.setting_mut(key)?.content {
            SettingContent::List(list) => Some(list),
            _ => None,
        }
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.keys.iter().position(|known| is_name(known.name, key))
    }
}

/// Whether a slot is the one of a key.
fn has_name(keys: &[KeySchema], slot: &SettingSlot, key: &str) -> bool {
    keys.get(slot.at).is_some_and(|known| is_name(known.name, key))
}

/// Whether two names are the same. Most names of equal length differ in their last letter, which saves the call of a
/// comparison: a change of a large configuration compares millions of them.
fn is_name(known: &str, key: &str) -> bool {
    known.len() == key.len()
        && known.as_bytes().last() == key.as_bytes().last()
        && known.as_bytes() == key.as_bytes()
}
