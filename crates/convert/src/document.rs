//! The output configuration: tables, their keys, and the source line of each.
//!
//! This module knows TOML syntax and no configuration keys. `validation` removes invalid entries afterwards.

use crate::document_size::{DocumentSize, TableSize};
use crate::shorten::shorten;
use crate::source::SourcePlace;

/// The limit of tables in one document, more than a file of the largest size can hold. Further tables are counted only, and
/// nothing is written of such a document.
pub const TABLES: usize = 60_000;

/// The tables in output order.
#[derive(Debug, Default)]
pub struct Document {
    pub tables: Vec<TomlTable>,
    /// The number of tables dropped because of the limits.
    pub dropped: usize,
    pub size: DocumentSize,
}

#[derive(Clone, Debug)]
pub struct TomlTable {
    pub path: String,
    /// The table is one element of an array of tables: `[[…]]`.
    pub repeated: bool,
    pub source: SourcePlace,
    pub directive: String,
    /// An invalid entry removes the whole table. A rule without its condition would match every request.
    pub atomic: bool,
    pub entries: Vec<TomlEntry>,
}

#[derive(Clone, Debug)]
pub struct TomlEntry {
    pub key: &'static str,
    pub value: TomlValue,
    pub source: SourcePlace,
    /// Further sources of the value.
    pub more_sources: Vec<SourcePlace>,
    /// If this key is invalid, the service or pool that owns the table is removed: a protection must not be lost.
    pub essential: bool,
}

/// A value in TOML syntax.
#[derive(Clone, Debug)]
pub enum TomlValue {
    /// A value on the key's line.
    Single(String),
    /// A list with one line per item.
    List(Vec<SourcedValue>),
}

/// A value in TOML syntax, and where it comes from.
#[derive(Clone, Debug)]
pub struct SourcedValue {
    pub value: String,
    pub source: SourcePlace,
}

/// The origin of a line of the rendered text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineContent {
    /// A line that cannot be removed.
    Fixed,
    Table(usize),
    /// A key of a table.
    Entry(EntryPosition),
    /// An item of a key's list.
    Item(ItemPosition),
}

/// The indices that lead to a key of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryPosition {
    pub table: usize,
    pub entry: usize,
}

/// The indices that lead to an item of a key's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemPosition {
    pub list: EntryPosition,
    pub item: usize,
}

/// The text of a document, and where each table begins in it.
#[derive(Default)]
pub struct RenderedDocument {
    pub text: String,
    lines: u32,
    /// The line before each table's own first line, counted from 0. A table without entries has that of the next one.
    table_lines: Vec<u32>,
}

impl TomlTable {
    pub fn new(path: impl Into<String>, source: SourcePlace, directive: &str) -> TomlTable {
        let path = path.into();
        let directive = shorten(directive);
        TomlTable { path, repeated: false, source, directive, atomic: false, entries: Vec::new() }
    }

    /// One element of `[[path]]`. A single invalid entry removes the whole element.
    pub fn one_of(path: impl Into<String>, source: SourcePlace, directive: &str) -> TomlTable {
        TomlTable { repeated: true, atomic: true, ..TomlTable::new(path, source, directive) }
    }

    /// Its size, of which comments and marks count little.
    fn size(&self) -> TableSize {
        let mut out = TableSize { bytes: self.path.len() + 4, ..TableSize::default() };
        if self.source.line() > 0 {
            out.bytes += 8 + self.directive.len();
        }
        for entry in &self.entries {
            let comment = |source: SourcePlace| if source.line() > 0 { 9 } else { 0 };
            out.bytes += entry.key.len() + 4;
            match &entry.value {
                TomlValue::Single(value) => {
                    out.bytes += value.len() + comment(entry.source);
                    out.value_bytes = out.value_bytes.max(value.len());
                    if entry.key == "when" {
                        out.expressions += value.matches("-regex = ").count();
                    }
                }
                TomlValue::List(items) => {
                    out.bytes += items
                        .iter()
                        .map(|item| item.value.len() + 4 + comment(item.source))
                        .sum::<usize>();
                    out.items = out.items.max(items.len());
                }
            }
        }
        out
    }

    /// Gives back what a finished table does not need: there may be as many tables as lines.
    pub fn shrink(&mut self) {
        self.entries.shrink_to_fit();
    }

    /// Sets a key and replaces an earlier value.
    pub fn set(&mut self, key: &'static str, value: impl Into<String>, source: SourcePlace) {
        self.insert(key, TomlValue::Single(value.into()), source, false);
    }

    /// Sets a key. If the key is invalid, the service or pool that owns the table is removed.
    pub fn set_required(
        &mut self,
        key: &'static str,
        value: impl Into<String>,
        source: SourcePlace,
    ) {
        self.insert(key, TomlValue::Single(value.into()), source, true);
    }

    fn insert(
        &mut self,
        key: &'static str,
        value: TomlValue,
        source: SourcePlace,
        essential: bool,
    ) {
        self.entries.retain(|entry| entry.key != key);
        self.entries.push(TomlEntry { key, value, source, more_sources: Vec::new(), essential });
    }

    /// Adds an item to a list.
    pub fn push_item(&mut self, key: &'static str, value: String, source: SourcePlace) {
        let known = self.entries.iter_mut().find(|entry| entry.key == key);
        match known.map(|entry| &mut entry.value) {
            Some(TomlValue::List(list)) => list.push(SourcedValue { value, source }),
            _ => self.insert(
                key,
                TomlValue::List(vec![SourcedValue { value, source }]),
                source,
                false,
            ),
        }
    }

    /// Adds further sources to a key.
    pub fn add_sources(&mut self, key: &str, sources: &[SourcePlace]) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key) {
            entry.more_sources.extend_from_slice(sources);
        }
    }

    /// The source of a key.
    pub fn source_of(&self, key: &str) -> Option<SourcePlace> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| entry.source)
    }

    /// Whether the table has this key.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// A key's single value. `None` for a list.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|entry| entry.key == key).and_then(|entry| match &entry.value {
            TomlValue::Single(value) => Some(value.as_str()),
            TomlValue::List(_) => None,
        })
    }
}

impl Document {
    /// Adds a table, or counts it as dropped when a limit is reached.
    pub fn push(&mut self, mut table: TomlTable) {
        if self.tables.len() >= TABLES || !self.size.add(&table.path, table.size()) {
            self.dropped += 1;
            return;
        }
        table.shrink();
        self.tables.push(table);
    }

    /// Takes no further table for this reason, and counts one as dropped.
    pub fn refuse(&mut self, reason: String) {
        self.size.refuse(reason);
        self.dropped += 1;
    }

    /// Why tables were dropped.
    pub fn refusal(&self) -> String {
        let many =
            || format!("{} objects and rules are more than one conversion carries", self.dropped);
        self.size.refusal().unwrap_or_else(many)
    }

    /// The table of this path. Elements of an array of tables are not searched.
    pub fn find(&mut self, path: &str) -> Option<&mut TomlTable> {
        self.tables.iter_mut().find(|table| !table.repeated && table.path == path)
    }

    /// Visits each table, key and list item: its source, and a function that writes it.
    pub fn visit_entries(&self, mut visit: impl FnMut(SourcePlace, &dyn Fn() -> String)) {
        for table in self.tables.iter().filter(|table| !table.entries.is_empty()) {
            visit(table.source, &|| format!("[{}]", table.path));
            for entry in &table.entries {
                let write = |value: &str| format!("{}.{} = {value}", table.path, entry.key);
                match &entry.value {
                    TomlValue::Single(value) => {
                        for source in std::iter::once(&entry.source).chain(&entry.more_sources) {
                            visit(*source, &|| write(value));
                        }
                    }
                    TomlValue::List(items) => {
                        for item in items {
                            visit(item.source, &|| write(&format!("[{}]", item.value)));
                        }
                    }
                }
            }
        }
    }

    /// Writes the text. `file`: the name of the source file, for comments.
    pub fn render(&self, file: &str) -> RenderedDocument {
        let mut page = RenderedDocument::default();
        for (at, table) in self.tables.iter().enumerate() {
            page.table_lines.push(page.lines);
            if table.entries.is_empty() {
                continue;
            }
            if at > 0 {
                page.line("");
            }
            if table.source.line() > 0 {
                let origin =
                    format!("# {}:{} {}", shorten(file), table.source.line(), table.directive);
                page.line(origin.trim_end());
            }
            let header = if table.repeated {
                format!("[[{}]]", table.path)
            } else {
                format!("[{}]", table.path)
            };
            page.line(&header);
            table.entries.iter().for_each(|entry| page.entry(entry));
        }
        page
    }

    /// The origin of a line of the rendered text, counted from 0.
    pub fn line_content(&self, page: &RenderedDocument, line: usize) -> LineContent {
        let begun = page.table_lines.partition_point(|first| *first as usize <= line);
        let Some(at) = begun.checked_sub(1) else { return LineContent::Fixed };
        let (Some(table), Some(first)) = (self.tables.get(at), page.table_lines.get(at)) else {
            return LineContent::Fixed;
        };
        let before = usize::from(at > 0) + usize::from(table.source.line() > 0);
        let Some(mut behind) = (line - *first as usize).checked_sub(before) else {
            return LineContent::Fixed;
        };
        if behind == 0 {
            return LineContent::Table(at);
        }
        behind -= 1;
        for (which, entry) in table.entries.iter().enumerate() {
            let position = EntryPosition { table: at, entry: which };
            if behind == 0 {
                return LineContent::Entry(position);
            }
            let lines = entry.value.lines();
            if behind < lines {
                let last = behind + 1 == lines;
                let item = ItemPosition { list: position, item: behind - 1 };
                return if last { LineContent::Entry(position) } else { LineContent::Item(item) };
            }
            behind -= lines;
        }
        LineContent::Fixed
    }
}

impl RenderedDocument {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
        self.lines += 1;
    }

    fn entry(&mut self, entry: &TomlEntry) {
        match &entry.value {
            TomlValue::Single(value) => {
                self.line(&format!("{} = {value}{}", entry.key, origin_comment(entry.source)));
            }
            TomlValue::List(items) => {
                self.line(&format!("{} = [", entry.key));
                for item in items {
                    self.line(&format!("  {},{}", item.value, origin_comment(item.source)));
                }
                self.line("]");
            }
        }
    }
}

impl TomlValue {
    /// The number of lines when it is written.
    fn lines(&self) -> usize {
        match self {
            TomlValue::Single(_) => 1,
            TomlValue::List(items) => items.len() + 2,
        }
    }
}

fn origin_comment(source: SourcePlace) -> String {
    match source.line() {
        0 => String::new(),
        line => format!(" # line {line}"),
    }
}
