//! The configuration that is written: tables, their keys, and the source line of each.
//!
//! This module handles TOML syntax and does not know the configuration's keys. `validation` removes invalid entries.

use crate::notes::shorten;

/// The limit of tables in one document. Further tables are dropped.
/// Twice the services and pools that one configuration may have.
pub const TABLES: usize = 20_000;

/// Tables in their order.
#[derive(Debug, Default)]
pub struct Document {
    pub tables: Vec<TomlTable>,
    /// Tables that had no room.
    pub dropped: usize,
}

#[derive(Clone, Debug)]
pub struct TomlTable {
    pub path: String,
    /// One of several of this path: `[[…]]`.
    pub repeated: bool,
    /// The source line; 0 if there is none.
    pub line: u32,
    pub directive: String,
    /// An invalid entry removes the whole table. A rule without its condition would match every request.
    pub atomic: bool,
    pub entries: Vec<TomlEntry>,
}

#[derive(Clone, Debug)]
pub struct TomlEntry {
    pub key: &'static str,
    pub value: TomlValue,
    pub line: u32,
    /// The table is removed if this entry is invalid, because the entry protects something.
    pub essential: bool,
}

/// A value, as TOML writes it.
#[derive(Clone, Debug)]
pub enum TomlValue {
    /// On the key's line.
    Single(String),
    /// A list with one item a line, and the source line of each.
    List(Vec<(String, u32)>),
}

/// The origin of a line of the rendered text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineContent {
    /// A line that cannot be removed.
    Fixed,
    Table(usize),
    /// A key of a table.
    Entry(usize, usize),
    /// One of a key's list.
    Item(usize, usize, usize),
}

impl TomlTable {
    pub fn new(path: impl Into<String>, line: u32, directive: &str) -> TomlTable {
        let path = path.into();
        let directive = shorten(directive);
        TomlTable { path, repeated: false, line, directive, atomic: false, entries: Vec::new() }
    }

    /// `[[path]]`, of which one mistake takes all out.
    pub fn one_of(path: impl Into<String>, line: u32, directive: &str) -> TomlTable {
        TomlTable { repeated: true, atomic: true, ..TomlTable::new(path, line, directive) }
    }

    /// Sets a key, in the place of an earlier one.
    pub fn set(&mut self, key: &'static str, value: impl Into<String>, line: u32) {
        self.insert(key, TomlValue::Single(value.into()), line, false);
    }

    /// Sets a key without which the table may not stand.
    pub fn set_required(&mut self, key: &'static str, value: impl Into<String>, line: u32) {
        self.insert(key, TomlValue::Single(value.into()), line, true);
    }

    fn insert(&mut self, key: &'static str, value: TomlValue, line: u32, essential: bool) {
        self.entries.retain(|entry| entry.key != key);
        self.entries.push(TomlEntry { key, value, line, essential });
    }

    /// One more of a list.
    pub fn push_item(&mut self, key: &'static str, value: String, line: u32) {
        let known = self.entries.iter_mut().find(|entry| entry.key == key);
        match known.map(|entry| &mut entry.value) {
            Some(TomlValue::List(list)) => list.push((value, line)),
            _ => self.insert(key, TomlValue::List(vec![(value, line)]), line, false),
        }
    }

    /// Whether it has a key.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// A key's value on one line.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|entry| entry.key == key).and_then(|entry| match &entry.value {
            TomlValue::Single(value) => Some(value.as_str()),
            TomlValue::List(_) => None,
        })
    }
}

impl Document {
    /// One more table, if there is room.
    pub fn push(&mut self, table: TomlTable) {
        if self.tables.len() < TABLES {
            self.tables.push(table);
        } else {
            self.dropped += 1;
        }
    }

    /// The table of a path.
    pub fn find(&mut self, path: &str) -> Option<&mut TomlTable> {
        self.tables.iter_mut().find(|table| !table.repeated && table.path == path)
    }

    /// The text, and the origin of each of its lines.
    pub fn render(&self, file: &str) -> (String, Vec<LineContent>) {
        let mut page = TomlWriter::default();
        for (at, table) in self.tables.iter().enumerate() {
            if table.entries.is_empty() {
                continue;
            }
            if at > 0 {
                page.line("", LineContent::Fixed);
            }
            if table.line > 0 {
                let origin = format!("# {}:{} {}", shorten(file), table.line, table.directive);
                page.line(origin.trim_end(), LineContent::Fixed);
            }
            let header = if table.repeated {
                format!("[[{}]]", table.path)
            } else {
                format!("[{}]", table.path)
            };
            page.line(&header, LineContent::Table(at));
            for (which, entry) in table.entries.iter().enumerate() {
                page.entry(entry, (at, which));
            }
        }
        (page.text, page.line_contents)
    }
}

#[derive(Default)]
struct TomlWriter {
    text: String,
    line_contents: Vec<LineContent>,
}

impl TomlWriter {
    fn line(&mut self, text: &str, slot: LineContent) {
        self.text.push_str(text);
        self.text.push('\n');
        self.line_contents.push(slot);
    }

    fn entry(&mut self, entry: &TomlEntry, (table, which): (usize, usize)) {
        let slot = LineContent::Entry(table, which);
        match &entry.value {
            TomlValue::Single(value) => {
                self.line(&format!("{} = {value}{}", entry.key, origin_comment(entry.line)), slot);
            }
            TomlValue::List(items) => {
                self.line(&format!("{} = [", entry.key), slot);
                for (at, (item, line)) in items.iter().enumerate() {
                    let text = format!("  {item},{}", origin_comment(*line));
                    self.line(&text, LineContent::Item(table, which, at));
                }
                self.line("]", slot);
            }
        }
    }
}

fn origin_comment(line: u32) -> String {
    if line > 0 { format!(" # line {line}") } else { String::new() }
}
