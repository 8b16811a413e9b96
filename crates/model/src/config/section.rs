//! A table of the file with its settings: as written (made by `decode`) or effective (made by `resolve`).
//!
//! Each setting has its origin. The section relies on the schema for types: reading a key as another type returns that
//! type's empty value.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::address::ServerAddress;
use super::ip_prefix::IpPrefix;
use super::listen_range::ListenRange;
use super::schema::{KeySchema, TableSchema};
use super::source_text::SourceSpan;
use super::value::ConfigValue;

/// A table with its settings, one slot for each key of the schema.
#[derive(Clone, Debug)]
pub struct ConfigSection {
    /// The name of a service, pool or other named table.
    pub name: String,
    pub span: SourceSpan,
    keys: &'static [KeySchema],
    slots: Vec<Option<Setting>>,
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
    Table(ConfigSection),
    /// A list of tables, or tables by name.
    List(Vec<ConfigSection>),
    /// A faulty value that has been reported.
    Invalid,
}

/// The origin of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    Default,
    /// Depends on other settings; the text describes how.
    Derived(&'static str),
    /// Written in this table.
    Written(SourceSpan),
    Global(SourceSpan),
    /// Written in the server's pool.
    Pool(SourceSpan),
}

impl SettingOrigin {
    /// The place where it was written, if any.
    pub fn span(self) -> Option<SourceSpan> {
        match self {
            SettingOrigin::Written(place)
            | SettingOrigin::Global(place)
            | SettingOrigin::Pool(place) => Some(place),
            SettingOrigin::Default | SettingOrigin::Derived(_) => None,
        }
    }
}

impl ConfigSection {
    pub fn new(table: &'static TableSchema, place: SourceSpan) -> ConfigSection {
        let slots = table.keys.iter().map(|_| None).collect();
        ConfigSection { name: String::new(), span: place, keys: table.keys, slots }
    }

    /// Sets the slot at a position of the schema.
    pub fn set_slot(&mut self, at: usize, slot: SettingContent, origin: SettingOrigin) {
        if let Some(room) = self.slots.get_mut(at) {
            *room = Some(Setting { content: slot, origin });
        }
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
            self.set_slot(at, SettingContent::Table(table), origin);
        }
    }

    pub fn clear(&mut self, key: &str) {
        if let Some(room) = self.position(key).and_then(|at| self.slots.get_mut(at)) {
            *room = None;
        }
    }

    pub fn setting(&self, key: &str) -> Option<&Setting> {
        self.slots.get(self.position(key)?)?.as_ref()
    }

    /// All settings with their keys, in the schema's order.
    pub fn settings(&self) -> impl Iterator<Item = (&'static KeySchema, &Setting)> {
        self.keys.iter().zip(&self.slots).filter_map(|(key, slot)| Some((key, slot.as_ref()?)))
    }

    /// Whether the key is written in this table.
    pub fn is_written(&self, key: &str) -> bool {
        matches!(self.setting(key), Some(Setting { origin: SettingOrigin::Written(_), .. }))
    }

    /// Whether the key's value is faulty; then no further finding about it is useful.
    pub fn is_invalid(&self, key: &str) -> bool {
        matches!(self.setting(key), Some(Setting { content: SettingContent::Invalid, .. }))
    }

    /// The place of the key, or of the section if the key is not written.
    pub fn span_of(&self, key: &str) -> SourceSpan {
        self.setting(key).and_then(|setting| setting.origin.span()).unwrap_or(self.span)
    }

    pub fn value(&self, key: &str) -> Option<&ConfigValue> {
        match &self.setting(key)?.content {
            SettingContent::Value(value) => Some(value),
            _ => None,
        }
    }

    pub fn table(&self, key: &str) -> Option<&ConfigSection> {
        match &self.setting(key)?.content {
            SettingContent::Table(section) => Some(section),
            _ => None,
        }
    }

    pub fn table_mut(&mut self, key: &str) -> Option<&mut ConfigSection> {
        let at = self.position(key)?;
        match &mut self.slots.get_mut(at)?.as_mut()?.content {
            SettingContent::Table(section) => Some(section),
            _ => None,
        }
    }

    /// The list of a key; empty if absent.
    pub fn list(&self, key: &str) -> &[ConfigSection] {
        match self.setting(key).map(|setting| &setting.content) {
            Some(SettingContent::List(list)) => list,
            _ => &[],
        }
    }

    pub fn list_mut(&mut self, key: &str) -> Option<&mut [ConfigSection]> {
        let at = self.position(key)?;
        match &mut self.slots.get_mut(at)?.as_mut()?.content {
            SettingContent::List(list) => Some(list),
            _ => None,
        }
    }

    /// Whether the key has the keyword for unset, written or by default.
    pub fn is_unset(&self, key: &str) -> bool {
        matches!(self.value(key), Some(ConfigValue::Unset(_)))
    }

    /// Several keywords of a closed list.
    pub fn keywords(&self, key: &str) -> &[&'static str] {
        match self.value(key) {
            Some(ConfigValue::Keywords(words)) => words,
            _ => &[],
        }
    }

    /// A flag; false if absent.
    pub fn flag(&self, key: &str) -> bool {
        matches!(self.value(key), Some(ConfigValue::Flag(true)))
    }

    /// A number, if it fits `N`.
    pub fn count<N: TryFrom<u64>>(&self, key: &str) -> Option<N> {
        match self.value(key) {
            Some(
                ConfigValue::Count(count)
                | ConfigValue::Size(count)
                | ConfigValue::Rate(count)
                | ConfigValue::Share(count),
            ) => N::try_from(*count).ok(),
            Some(ConfigValue::Mode(mode)) => N::try_from(u64::from(*mode)).ok(),
            _ => None,
        }
    }

    /// A number; 0 if absent.
    pub fn count_or_zero<N: TryFrom<u64> + Default>(&self, key: &str) -> N {
        self.count(key).unwrap_or_default()
    }

    pub fn time(&self, key: &str) -> Option<Duration> {
        match self.value(key) {
            Some(ConfigValue::Time(time)) => Some(*time),
            _ => None,
        }
    }

    /// A time; 0 if absent.
    pub fn time_or_zero(&self, key: &str) -> Duration {
        self.time(key).unwrap_or_default()
    }

    /// A text or a keyword.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.value(key) {
            Some(ConfigValue::Text(text)) => Some(text),
            Some(ConfigValue::Keyword(word)) => Some(word),
            _ => None,
        }
    }

    pub fn texts(&self, key: &str) -> &[String] {
        match self.value(key) {
            Some(ConfigValue::Texts(list)) => list,
            _ => &[],
        }
    }

    /// Listening addresses; a single one counts as a list.
    pub fn sockets(&self, key: &str) -> &[SocketAddr] {
        match self.value(key) {
            Some(ConfigValue::Listen(list)) => list,
            Some(ConfigValue::Socket(address)) => std::slice::from_ref(address),
            _ => &[],
        }
    }

    /// Listening addresses with their ports, in either form.
    pub fn listen_ranges(&self, key: &str) -> Vec<ListenRange> {
        match self.value(key) {
            Some(ConfigValue::ListenRanges(list)) => list.clone(),
            _ => self
                .sockets(key)
                .iter()
                .map(|at| ListenRange::single_port(at.ip(), at.port()))
                .collect(),
        }
    }

    pub fn prefixes(&self, key: &str) -> &[IpPrefix] {
        match self.value(key) {
            Some(ConfigValue::Prefixes(list)) => list,
            _ => &[],
        }
    }

    pub fn addresses(&self, key: &str) -> &[IpAddr] {
        match self.value(key) {
            Some(ConfigValue::Addresses(list)) => list,
            _ => &[],
        }
    }

    pub fn server_address(&self, key: &str) -> Option<&ServerAddress> {
        match self.value(key) {
            Some(ConfigValue::Server(address)) => Some(address),
            _ => None,
        }
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.keys.iter().position(|known| known.name == key)
    }
}
