//! A table of the file with its settings: as written (`decode` makes it) or in force (`resolve` makes it).
//!
//! Each setting knows where it came from. The section trusts its makers for the kinds that the schema promises:
//! reading a key as another kind gives that kind's nothing.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::address::ServerAddress;
use super::packets::{Prefix, Span};
use super::schema::{Key, Table};
use super::source::Place;
use super::value::Value;

/// A table with its settings, one slot for each key of the schema.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name where it has one: a service or a pool.
    pub name: String,
    /// Where it stands.
    pub place: Place,
    keys: &'static [Key],
    slots: Vec<Option<Setting>>,
}

/// A setting and where it came from.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What it is.
    pub slot: Slot,
    /// Where from.
    pub origin: Origin,
}

/// What a setting holds.
#[derive(Clone, Debug)]
pub enum Slot {
    /// A value.
    Value(Value),
    /// A table.
    Table(Section),
    /// A list of tables or tables by name.
    List(Vec<Section>),
    /// Something wrong was written here; it has been reported.
    Broken,
}

/// Where a setting came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nothing was written.
    Default,
    /// Told by other settings, as said here.
    Derived(&'static str),
    /// Written where it holds.
    Written(Place),
    /// Written in `[global]`.
    Global(Place),
    /// Written in the pool of the server.
    Pool(Place),
}

impl Origin {
    /// Where it was written, if it was.
    pub fn place(self) -> Option<Place> {
        match self {
            Origin::Written(place) | Origin::Global(place) | Origin::Pool(place) => Some(place),
            Origin::Default | Origin::Derived(_) => None,
        }
    }
}

impl Section {
    /// An empty one.
    pub fn new(table: &'static Table, place: Place) -> Section {
        let slots = table.keys.iter().map(|_| None).collect();
        Section { name: String::new(), place, keys: table.keys, slots }
    }

    /// Fill the slot at a position of the schema.
    pub fn put(&mut self, at: usize, slot: Slot, origin: Origin) {
        if let Some(room) = self.slots.get_mut(at) {
            *room = Some(Setting { slot, origin });
        }
    }

    /// Replace the value of a key.
    pub fn set(&mut self, key: &str, value: Value, origin: Origin) {
        if let Some(at) = self.position(key) {
            self.put(at, Slot::Value(value), origin);
        }
    }

    /// Replace the table of a key.
    pub fn set_table(&mut self, key: &str, table: Section, origin: Origin) {
        if let Some(at) = self.position(key) {
            self.put(at, Slot::Table(table), origin);
        }
    }

    /// Empty the slot of a key.
    pub fn clear(&mut self, key: &str) {
        if let Some(room) = self.position(key).and_then(|at| self.slots.get_mut(at)) {
            *room = None;
        }
    }

    /// The setting of a key.
    pub fn setting(&self, key: &str) -> Option<&Setting> {
        self.slots.get(self.position(key)?)?.as_ref()
    }

    /// Every setting with its key, in the schema's order.
    pub fn settings(&self) -> impl Iterator<Item = (&'static Key, &Setting)> {
        self.keys.iter().zip(&self.slots).filter_map(|(key, slot)| Some((key, slot.as_ref()?)))
    }

    /// True when the key was written right here.
    pub fn wrote(&self, key: &str) -> bool {
        matches!(self.setting(key), Some(Setting { origin: Origin::Written(_), .. }))
    }

    /// True when what was written for the key is wrong: then nothing more can be said about it.
    pub fn broken(&self, key: &str) -> bool {
        matches!(self.setting(key), Some(Setting { slot: Slot::Broken, .. }))
    }

    /// Where the key was written, else where the section stands.
    pub fn place_of(&self, key: &str) -> Place {
        self.setting(key).and_then(|setting| setting.origin.place()).unwrap_or(self.place)
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&Value> {
        match &self.setting(key)?.slot {
            Slot::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The table of a key.
    pub fn table(&self, key: &str) -> Option<&Section> {
        match &self.setting(key)?.slot {
            Slot::Table(section) => Some(section),
            _ => None,
        }
    }

    /// The table of a key, to be changed.
    pub fn table_mut(&mut self, key: &str) -> Option<&mut Section> {
        let at = self.position(key)?;
        match &mut self.slots.get_mut(at)?.as_mut()?.slot {
            Slot::Table(section) => Some(section),
            _ => None,
        }
    }

    /// The list of a key; empty when there is none.
    pub fn list(&self, key: &str) -> &[Section] {
        match self.setting(key).map(|setting| &setting.slot) {
            Some(Slot::List(list)) => list,
            _ => &[],
        }
    }

    /// The list of a key, to be changed.
    pub fn list_mut(&mut self, key: &str) -> Option<&mut [Section]> {
        let at = self.position(key)?;
        match &mut self.slots.get_mut(at)?.as_mut()?.slot {
            Slot::List(list) => Some(list),
            _ => None,
        }
    }

    /// True when the word for nothing set stands, or was left to stand.
    pub fn unset(&self, key: &str) -> bool {
        matches!(self.value(key), Some(Value::Unset(_)))
    }

    /// Several words of a closed list.
    pub fn words(&self, key: &str) -> &[&'static str] {
        match self.value(key) {
            Some(Value::Words(words)) => words,
            _ => &[],
        }
    }

    /// A flag; false when there is none.
    pub fn flag(&self, key: &str) -> bool {
        matches!(self.value(key), Some(Value::Flag(true)))
    }

    /// A number that fits `N`.
    pub fn count<N: TryFrom<u64>>(&self, key: &str) -> Option<N> {
        match self.value(key) {
            Some(
                Value::Count(count) | Value::Size(count) | Value::Rate(count) | Value::Share(count),
            ) => N::try_from(*count).ok(),
            Some(Value::Mode(mode)) => N::try_from(u64::from(*mode)).ok(),
            _ => None,
        }
    }

    /// A number, 0 when there is none.
    pub fn number<N: TryFrom<u64> + Default>(&self, key: &str) -> N {
        self.count(key).unwrap_or_default()
    }

    /// A time.
    pub fn time(&self, key: &str) -> Option<Duration> {
        match self.value(key) {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        }
    }

    /// A time, 0 when there is none.
    pub fn span(&self, key: &str) -> Duration {
        self.time(key).unwrap_or_default()
    }

    /// A text or a word.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.value(key) {
            Some(Value::Text(text)) => Some(text),
            Some(Value::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// A list of texts.
    pub fn texts(&self, key: &str) -> &[String] {
        match self.value(key) {
            Some(Value::Texts(list)) => list,
            _ => &[],
        }
    }

    /// Addresses to listen on; a single one counts as a list.
    pub fn sockets(&self, key: &str) -> &[SocketAddr] {
        match self.value(key) {
            Some(Value::Listen(list)) => list,
            Some(Value::Socket(address)) => std::slice::from_ref(address),
            _ => &[],
        }
    }

    /// Addresses to listen on with their ports, in either form.
    pub fn spans(&self, key: &str) -> Vec<Span> {
        match self.value(key) {
            Some(Value::Spans(list)) => list.clone(),
            _ => self.sockets(key).iter().map(|at| Span::one(at.ip(), at.port())).collect(),
        }
    }

    /// Networks.
    pub fn prefixes(&self, key: &str) -> &[Prefix] {
        match self.value(key) {
            Some(Value::Prefixes(list)) => list,
            _ => &[],
        }
    }

    /// Addresses without port.
    pub fn addresses(&self, key: &str) -> &[IpAddr] {
        match self.value(key) {
            Some(Value::Addresses(list)) => list,
            _ => &[],
        }
    }

    /// A server's address.
    pub fn server(&self, key: &str) -> Option<&ServerAddress> {
        match self.value(key) {
            Some(Value::Server(address)) => Some(address),
            _ => None,
        }
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.keys.iter().position(|known| known.name == key)
    }
}
