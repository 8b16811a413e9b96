//! A table of a file during parsing: each key is read once, mistakes are collected, and remaining keys are unknown.
//!
//! The meaning of keys is defined elsewhere.

use std::fmt::Display;
use std::str::FromStr;

use model::config::suggestion::nearest_match;
use toml::{Table, Value};

/// Mistakes in the order in which they were found, each with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mistakes(pub Vec<String>);

/// Limit for listed mistakes; the others appear after these are corrected.
const MOST: usize = 50;

impl Mistakes {
    pub fn add(&mut self, place: &str, text: impl Display) {
        if self.0.len() < MOST {
            self.0.push(format!("{place}: {text}"));
        }
    }
}

#[derive(Debug)]
pub struct FileSection {
    place: String,
    table: Table,
    known: Vec<&'static str>,
}

impl FileSection {
    /// Opens a value that must be a table.
    pub fn from_value(place: &str, value: Value, wrong: &mut Mistakes) -> FileSection {
        let table = match value {
            Value::Table(table) => table,
            other => {
                wrong.add(place, format!("found {}, expected a table", kind(&other)));
                Table::new()
            }
        };
        FileSection { place: place.to_owned(), table, known: Vec::new() }
    }

    /// The place of a key for messages.
    pub fn key_path(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}, {key}", self.place) }
    }

    /// Removes a key and returns its value of any type.
    pub fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.table.remove(key)
    }

    /// Returns all remaining keys with their values, for tables whose keys are names.
    pub fn remaining(self) -> Table {
        self.table
    }

    pub fn text(&mut self, key: &'static str, wrong: &mut Mistakes) -> Option<String> {
        let place = self.key_path(key);
        match self.take(key)? {
            Value::String(text) => Some(text),
            other => {
                wrong.add(&place, format!("found {}, expected a text in quotes", kind(&other)));
                None
            }
        }
    }

    /// Parses a text; `expected` describes a valid text, with an example.
    pub fn parsed<T: FromStr>(
        &mut self,
        key: &'static str,
        expected: &str,
        wrong: &mut Mistakes,
    ) -> Option<T> {
        let text = self.text(key, wrong)?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            wrong.add(&self.key_path(key), format!("found `{text}`, expected {expected}"));
        }
        parsed
    }

    /// A whole number within limits.
    pub fn number(
        &mut self,
        key: &'static str,
        least: u32,
        most: u32,
        wrong: &mut Mistakes,
    ) -> Option<u32> {
        let place = self.key_path(key);
        let value = self.take(key)?;
        let fits = value.as_integer().and_then(|number| u32::try_from(number).ok());
        let fits = fits.filter(|number| (least..=most).contains(number));
        if fits.is_none() {
            let found =
                value.as_integer().map_or_else(|| kind(&value).to_owned(), |n| n.to_string());
            wrong.add(&place, format!("found {found}, expected a number from {least} to {most}"));
        }
        fits
    }

    /// One text or a list of texts.
    pub fn texts(&mut self, key: &'static str, wrong: &mut Mistakes) -> Vec<String> {
        let place = self.key_path(key);
        self.take(key).map_or_else(Vec::new, |value| texts(&place, value, wrong))
    }

    /// Reports all keys that were not read as unknown.
    pub fn reject_unknown(self, wrong: &mut Mistakes) {
        for key in self.table.keys() {
            let meant = match nearest_match(key, self.known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", self.known.join(", ")),
            };
            let place = if self.place.is_empty() { "the file" } else { &self.place };
            wrong.add(place, format!("`{key}` is not known; {meant}"));
        }
    }
}

/// One text or a list of texts.
pub fn texts(place: &str, value: Value, wrong: &mut Mistakes) -> Vec<String> {
    let values = match value {
        Value::Array(values) => values,
        one => vec![one],
    };
    let mut found = Vec::new();
    for value in values {
        match value {
            Value::String(text) => found.push(text),
            other => wrong
                .add(place, format!("found {}, expected a text or a list of them", kind(&other))),
        }
    }
    found
}

/// The type of a value, in words.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}
