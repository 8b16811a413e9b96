//! The options of a configuration as one tree, whether they come from a file, from labels or from arguments.
//!
//! Names of options are compared without regard to letter case, as Traefik does.

use crate::duration::parse_duration;
use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;
use crate::shorten::shorten;
use crate::source::SourcePlace;
use crate::structured::node::{ConfigNode, NodeValue};

/// An option with its value.
#[derive(Clone, Debug)]
pub struct OptionNode {
    /// The name; empty for an element of a list.
    pub key: String,
    /// The place of the option. `NONE` for a table that only labels imply.
    pub source: SourcePlace,
    /// The option in short, for messages.
    pub text: String,
    pub value: OptionValue,
}

#[derive(Clone, Debug, Default)]
pub enum OptionValue {
    #[default]
    Empty,
    Text(String),
    List(Vec<OptionNode>),
    Table(Vec<OptionNode>),
}

/// A text and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedText {
    pub text: String,
    pub source: SourcePlace,
}

impl Default for OptionNode {
    fn default() -> OptionNode {
        let source = SourcePlace::NONE;
        OptionNode { key: String::new(), source, text: String::new(), value: OptionValue::Empty }
    }
}

impl OptionNode {
    /// The options of a file.
    pub fn from_file(node: &ConfigNode) -> OptionNode {
        let inner = |nodes: &[ConfigNode]| nodes.iter().map(OptionNode::from_file).collect();
        let value = match node.value() {
            NodeValue::Null => OptionValue::Empty,
            NodeValue::Scalar(scalar) => OptionValue::Text(scalar.text.clone()),
            NodeValue::List(items) => OptionValue::List(inner(items)),
            NodeValue::Map(entries) => OptionValue::Table(inner(entries)),
        };
        let text = node.describe().to_owned();
        OptionNode { key: node.key().to_owned(), source: node.source.whole(), text, value }
    }

    /// A text that the converter adds, with the place that it comes from.
    pub fn implied(key: &str, text: &str, source: SourcePlace) -> OptionNode {
        OptionNode {
            key: key.to_owned(),
            source,
            text: shorten(&format!("{key}: {text}")),
            value: OptionValue::Text(text.to_owned()),
        }
    }

    pub fn children(&self) -> &[OptionNode] {
        match &self.value {
            OptionValue::List(inner) | OptionValue::Table(inner) => inner,
            _ => &[],
        }
    }

    /// The entries of a table. Empty if the value is no table.
    pub fn entries(&self) -> &[OptionNode] {
        match &self.value {
            OptionValue::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list. Empty if the value is no list.
    pub fn items(&self) -> &[OptionNode] {
        match &self.value {
            OptionValue::List(items) => items,
            _ => &[],
        }
    }

    pub fn get(&self, key: &str) -> Option<&OptionNode> {
        self.entries().iter().find(|node| node.key.eq_ignore_ascii_case(key))
    }

    /// The option behind several names.
    pub fn find(&self, path: &[&str]) -> Option<&OptionNode> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            OptionValue::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(OptionNode::as_text)
    }

    /// Whether the option of this name is true.
    pub fn is_on(&self, key: &str) -> bool {
        self.text_of(key).and_then(parse_flag).unwrap_or(false)
    }

    /// A list of texts. Labels write it as one text with commas.
    pub fn texts(&self) -> Vec<PlacedText> {
        let placed = |text: &str, source| PlacedText { text: text.trim().to_owned(), source };
        match &self.value {
            OptionValue::Text(text) => {
                let parts = text.split(',').filter(|part| !part.trim().is_empty());
                parts.map(|part| placed(part, self.source)).collect()
            }
            OptionValue::List(items) => items
                .iter()
                .filter_map(|item| item.as_text().map(|text| placed(text, item.source)))
                .collect(),
            _ => Vec::new(),
        }
    }

    pub fn texts_of(&self, key: &str) -> Vec<PlacedText> {
        self.get(key).map(OptionNode::texts).unwrap_or_default()
    }

    /// A duration of Go in milliseconds. A number alone counts seconds, as in Traefik.
    pub fn duration_of(&self, key: &str) -> Option<u64> {
        parse_duration(self.text_of(key)?, 1_000)
    }

    pub fn number_of(&self, key: &str) -> Option<i64> {
        parse_number(self.text_of(key)?)
    }

    /// The place of the option, or of the first one inside it.
    pub fn place(&self) -> SourcePlace {
        if self.source != SourcePlace::NONE {
            return self.source;
        }
        let inner = self.children().iter().map(OptionNode::place);
        inner.into_iter().find(|place| *place != SourcePlace::NONE).unwrap_or(SourcePlace::NONE)
    }

    /// Sets the outcome of the option and of everything inside it.
    pub fn settle(&self, outcome: NoteKind, notes: &mut ConversionNotes) {
        if self.source != SourcePlace::NONE {
            notes.ledger.settle(self.source.whole(), outcome);
        }
        self.children().iter().for_each(|inner| inner.settle(outcome, notes));
    }

    pub fn left_out(&self, notes: &mut ConversionNotes, reason: &str, instead: &str) {
        notes.left_out(self.place().whole(), &self.text, reason, instead);
        self.settle(NoteKind::LeftOut, notes);
    }

    pub fn changed(&self, notes: &mut ConversionNotes, reason: &str, instead: &str) {
        notes.changed(self.place().whole(), &self.text, reason, instead);
        self.settle(NoteKind::Changed, notes);
    }

    pub fn not_needed(&self, notes: &mut ConversionNotes, reason: &str) {
        // A table that is only implied has nothing to report.
        if self.place() == SourcePlace::NONE {
            return;
        }
        notes.not_needed(self.place().whole(), &self.text, reason);
        self.settle(NoteKind::NotNeeded, notes);
    }

    pub fn converted(&self, notes: &mut ConversionNotes) {
        self.settle(NoteKind::Converted, notes);
    }

    /// Settles the option of this name as converted.
    pub fn convert_key(&self, key: &str, notes: &mut ConversionNotes) {
        self.get(key).into_iter().for_each(|node| node.converted(notes));
    }

    /// Whether anything inside has an outcome.
    pub fn is_touched(&self, notes: &ConversionNotes) -> bool {
        let own = |node: &OptionNode| {
            node.source != SourcePlace::NONE && notes.ledger.is_settled(node.source)
        };
        self.children().iter().any(|inner| own(inner) || inner.is_touched(notes))
    }

    /// Reports all options inside that have no outcome as left out.
    pub fn note_rest(&self, notes: &mut ConversionNotes) {
        for inner in self.children() {
            let reason = "it has no counterpart, or nothing that is written uses it";
            match &inner.value {
                OptionValue::Text(_) | OptionValue::Empty => {
                    if inner.source != SourcePlace::NONE && !notes.ledger.is_settled(inner.source) {
                        inner.left_out(notes, reason, "");
                    }
                }
                _ if inner.children().is_empty() && !notes.ledger.is_settled(inner.source) => {
                    inner.left_out(notes, reason, "");
                }
                _ => {
                    inner.note_rest(notes);
                    if inner.source != SourcePlace::NONE && !notes.ledger.is_settled(inner.source) {
                        notes.converted(inner.source.whole());
                    }
                }
            }
        }
    }
}

/// A flag as Traefik reads it (Go, `strconv.ParseBool`).
pub fn parse_flag(text: &str) -> Option<bool> {
    match text.trim() {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// A whole number, also with `_` between digits, and in the bases that YAML and TOML know.
fn parse_number(text: &str) -> Option<i64> {
    let text = text.trim().replace('_', "");
    let in_base = |prefix: &str, base: u32| {
        text.strip_prefix(prefix).and_then(|digits| i64::from_str_radix(digits, base).ok())
    };
    let based = in_base("0x", 16).or_else(|| in_base("0o", 8)).or_else(|| in_base("0b", 2));
    based.or_else(|| text.parse().ok())
}
