//! Converts the parsed file to sections: types each value, checks its bounds, and reports every mistake with its place.
//!
//! It walks the file along the schema and handles one key at a time. `verify` checks relations between keys; `resolve`
//! adds defaults.

pub mod address;
pub mod expectation;
mod key_names;
pub mod key_path;
mod list_keys;
mod name;
pub mod packets;
mod punycode;
pub mod scalar;
mod text_format;

pub use text_format::{is_cookie_value, is_writable_field};

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::finding::{FindingCollector, FindingDetails};
use super::key_lookup::FoundKey;
use super::schema::{KeySchema, TableSchema, TableShorthand, TextFormat, ValueKind};
use super::section::{ConfigSection, SettingContent, SettingOrigin};
use super::source_text::SourceSpan;
use super::suggestion::nearest_match;
use super::value::ConfigValue;
use key_path::KeyPath;

#[derive(Debug)]
pub struct ConfigDecoder<'d, 's, 't> {
    sink: &'d mut FindingCollector<'s, 't>,
    path: KeyPath,
    /// Elements read so far of each kind of list.
    elements: Vec<ElementCount>,
    /// Where the text that is read begins in the file, in bytes.
    begin: usize,
}

/// How many elements of one kind of list the file has so far.
#[derive(Debug)]
struct ElementCount {
    table: &'static TableSchema,
    count: usize,
}

type TomlNode<'i> = Spanned<DeValue<'i>>;

impl<'d, 's, 't> ConfigDecoder<'d, 's, 't> {
    pub fn new(sink: &'d mut FindingCollector<'s, 't>) -> Self {
        ConfigDecoder { sink, path: KeyPath::default(), elements: Vec::new(), begin: 0 }
    }

    /// The next table was parsed from a text that begins here in the file, in bytes.
    pub fn begin_at(&mut self, begin: usize) {
        self.begin = begin;
    }

    /// A place in the file of a place in the text that is read.
    fn place(&self, span: Range<usize>) -> SourceSpan {
        SourceSpan::from(span.start + self.begin..span.end + self.begin)
    }

    /// Reads a table. Unknown keys, rejected keys and wrong values are reported; the other settings are returned.
    pub fn decode_table(
        &mut self,
        table: &'static TableSchema,
        node: &DeTable<'_>,
        place: SourceSpan,
    ) -> ConfigSection {
        let mut section = ConfigSection::new(table, place);
        for (name, value) in node.iter() {
            self.path.push(name.get_ref());
            let found = table.find(name.get_ref());
            match found.or_else(|| self.find_renamed_key(table, node, name)) {
                None => self.report_unknown_key(table, name.get_ref(), self.place(name.span())),
                Some(FoundKey {
                    key: KeySchema { kind: ValueKind::Refused(reason), .. }, ..
                }) => {
                    let message = format!("`{}` cannot be set here: {reason}", name.get_ref());
                    self.report_error(
                        self.place(name.span()),
                        FindingDetails::new(message).with_found(name.get_ref().to_string()),
                    );
                }
                Some(FoundKey { at, key }) => {
                    let place = if value.get_ref().is_table() { name.span() } else { value.span() };
                    let slot = self.decode_slot(key, value).unwrap_or(SettingContent::Invalid);
                    section.set_slot(at, slot, SettingOrigin::Written(self.place(place)));
                }
            }
            self.path.pop();
        }
        self.check_exclusive_keys(table, &section);
        section.shrink();
        section
    }

    fn decode_slot(
        &mut self,
        key: &'static KeySchema,
        node: &TomlNode<'_>,
    ) -> Option<SettingContent> {
        if node.span().is_empty() {
            // The parser's placeholder for a value that it could not read and has reported.
            return None;
        }
        match &key.kind {
            ValueKind::Table { table, short, unset } => {
                self.decode_table_or_shorthand(table, *short, *unset, node)
            }
            ValueKind::List { table, short, most } => self.decode_list(table, *short, *most, node),
            ValueKind::Named { table, form, most } => {
                self.decode_named_tables(key, table, *form, *most, node)
            }
            kind => self.decode_scalar(kind, node).map(SettingContent::Value),
        }
    }

    fn decode_scalar(&mut self, kind: &ValueKind, node: &TomlNode<'_>) -> Option<ConfigValue> {
        match scalar::decode_value(kind, node.get_ref()) {
            Ok(value) => {
                self.warn_of_former_words(kind, node);
                Some(value)
            }
            Err(trouble) => {
                let shown = display_value(node.get_ref());
                self.report_error(
                    self.place(node.span()),
                    shown.map_or(trouble.clone(), |text| trouble.with_found(text)),
                );
                None
            }
        }
    }

    fn decode_table_or_shorthand(
        &mut self,
        table: &'static TableSchema,
        short: TableShorthand,
        unset: Option<&'static str>,
        node: &TomlNode<'_>,
    ) -> Option<SettingContent> {
        let place = self.place(node.span());
        match (node.get_ref(), short) {
            (DeValue::Table(inner), _) => {
                return Some(SettingContent::Table(Box::new(
                    self.decode_table(table, inner, place),
                )));
            }
            (DeValue::String(word), _) if unset == Some(word) => {
                return unset.map(|word| SettingContent::Value(ConfigValue::Unset(word)));
            }
            (DeValue::String(word), TableShorthand::Flags(flags))
                if flags.contains(&word.as_ref()) =>
            {
                return self.expand_shorthand(table, word, ConfigValue::Flag(true), place);
            }
            (DeValue::Boolean(true), TableShorthand::Switch) => {
                return Some(SettingContent::Table(Box::new(ConfigSection::new(table, place))));
            }
            (DeValue::Boolean(false), TableShorthand::Switch) if unset.is_some() => {
                return unset.map(|word| SettingContent::Value(ConfigValue::Unset(word)));
            }
            (value, TableShorthand::Key(name))
                if !matches!(value, DeValue::Array(_)) || list_keys::accepts_list(table, name) =>
            {
                let value = self.decode_scalar(&table.find(name)?.key.kind, node)?;
                return self.expand_shorthand(table, name, value, place);
            }
            _ => {}
        }
        self.report_type_mismatch(table, short, unset, node);
        None
    }

    /// Reports a value that is neither a table nor one of its short forms.
    fn report_type_mismatch(
        &mut self,
        table: &'static TableSchema,
        short: TableShorthand,
        unset: Option<&'static str>,
        node: &TomlNode<'_>,
    ) {
        let words: Vec<&str> = match short {
            TableShorthand::Flags(flags) => flags.iter().copied().chain(unset).collect(),
            _ => unset.into_iter().collect(),
        };
        let mut accepted = vec![match short {
            TableShorthand::None => text_format::describe_table(table),
            _ => "a table".to_owned(),
        }];
        accepted.extend(words.iter().map(|word| format!("\"{word}\"")));
        accepted.extend(matches!(short, TableShorthand::Switch).then(|| "true".to_owned()));
        let near = node.get_ref().as_str().and_then(|text| nearest_match(text, words));
        let near = near.map(|word| format!("\"{word}\""));
        let near = near.or_else(|| text_format::suggest_table(table, node.get_ref().as_str()?));
        let trouble = FindingDetails::new(format!(
            "{} is not {}",
            expectation::toml_type_name(node.get_ref()),
            table.description
        ))
        .with_expected(accepted.join(" or "))
        .with_suggestion(near);
        self.report_error(self.place(node.span()), trouble);
    }

    fn expand_shorthand(
        &mut self,
        table: &'static TableSchema,
        key: &str,
        value: ConfigValue,
        place: SourceSpan,
    ) -> Option<SettingContent> {
        let mut section = ConfigSection::new(table, place);
        section.set(key, value, SettingOrigin::Written(place));
        Some(SettingContent::Table(Box::new(section)))
    }

    fn decode_list(
        &mut self,
        table: &'static TableSchema,
        short: TableShorthand,
        most: usize,
        node: &TomlNode<'_>,
    ) -> Option<SettingContent> {
        let nodes = match node.get_ref() {
            DeValue::Array(array) => array.iter().collect(),
            DeValue::String(_) => vec![node],
            other => {
                let trouble = FindingDetails::new(format!(
                    "{} is not a list",
                    expectation::toml_type_name(other)
                ))
                .with_expected(format!(
                    "a list, each element {} as a table or its address",
                    table.description
                ));
                self.report_error(self.place(node.span()), trouble);
                return None;
            }
        };
        let mut list = Vec::with_capacity(nodes.len().min(most));
        for (at, node) in nodes.into_iter().enumerate() {
            let count = self.count_element(table);
            if count > most {
                if count == most + 1 {
                    let what = table.description.trim_start_matches("a ");
                    let message = format!("the file has more than {most} {what}s");
                    self.report_error(self.place(node.span()), FindingDetails::new(message));
                }
                continue;
            }
            self.path.push_index(at);
            // A faulty element keeps its position, so that key paths of later elements stay correct.
            let section = match self.decode_table_or_shorthand(table, short, None, node) {
                Some(SettingContent::Table(section)) => *section,
                _ => self.invalid_section(table, self.place(node.span())),
            };
            list.push(section);
            self.path.pop();
        }
        Some(SettingContent::List(list))
    }

    /// Counts one more element of this kind in the file and returns the total.
    fn count_element(&mut self, table: &'static TableSchema) -> usize {
        let known = self.elements.iter_mut().find(|known| std::ptr::eq(known.table, table));
        match known {
            Some(known) => {
                known.count += 1;
                known.count
            }
            None => {
                self.elements.push(ElementCount { table, count: 1 });
                1
            }
        }
    }

    fn invalid_section(&mut self, table: &'static TableSchema, place: SourceSpan) -> ConfigSection {
        let mut section = ConfigSection::new(table, place);
        for at in 0..table.keys.len() {
            section.set_slot(at, SettingContent::Invalid, SettingOrigin::Written(place));
        }
        section
    }

    fn decode_named_tables(
        &mut self,
        key: &KeySchema,
        table: &'static TableSchema,
        form: TextFormat,
        most: usize,
        node: &TomlNode<'_>,
    ) -> Option<SettingContent> {
        let DeValue::Table(entries) = node.get_ref() else {
            let message = format!(
                "{} stands where names belong",
                expectation::toml_type_name(node.get_ref())
            );
            let trouble =
                FindingDetails::new(message).with_expected(format!("tables `[{}.NAME]`", key.name));
            self.report_error(self.place(node.span()), trouble);
            return None;
        };
        let mut list = Vec::with_capacity(entries.len().min(most));
        for (at, (name, value)) in entries.iter().enumerate() {
            let place = self.place(name.span());
            if at == most {
                let message = format!(
                    "the file has {} tables `[{}.NAME]`, more than {most}",
                    entries.len(),
                    key.name
                );
                self.report_error(place, FindingDetails::new(message));
                break;
            }
            self.path.push(name.get_ref());
            if let DeValue::Table(inner) = value.get_ref() {
                let approved = match form {
                    TextFormat::Name => self::name::validate_name(name.get_ref(), 63),
                    form => text_format::parse_text(form, name.get_ref()).map(drop),
                };
                if let Err(trouble) = approved {
                    self.report_error(place, trouble);
                }
                let mut section = self.decode_table(table, inner, place);
                section.name = name.get_ref().to_string();
                list.push(section);
            } else {
                let message = format!(
                    "{} stands where {} belongs",
                    expectation::toml_type_name(value.get_ref()),
                    table.description
                );
                let trouble = FindingDetails::new(message)
                    .with_expected(format!("tables `[{}.NAME]`", key.name));
                self.report_error(place, trouble);
            }
            self.path.pop();
        }
        Some(SettingContent::List(list))
    }

    /// Reports keys that exclude each other in one table.
    fn check_exclusive_keys(&mut self, table: &'static TableSchema, section: &ConfigSection) {
        let written = table
            .exclusive_groups
            .iter()
            .map(|group| group.iter().find(|key| section.is_written(key)));
        let written: Vec<&&str> = written.flatten().collect();
        if let [first, second, ..] = written.as_slice() {
            let place = section.span_of(second);
            let message = format!("`{first}` and `{second}` exclude each other: write one of them");
            self.path.push(second);
            self.report_error(place, FindingDetails::new(message));
            self.path.pop();
        }
    }

    fn report_error(&mut self, place: SourceSpan, trouble: FindingDetails) {
        self.sink.error(place, &self.path.text, trouble);
    }
}

/// Shortened and escaped for a message.
fn truncate_for_message(text: &str) -> String {
    // 80 characters identify a value and leave the message on one or two lines of a terminal.
    text.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A string's decoded text; other values as written in the file.
fn display_value(value: &DeValue<'_>) -> Option<String> {
    value.as_str().map(|text| format!("\"{}\"", truncate_for_message(text).escape_debug()))
}
