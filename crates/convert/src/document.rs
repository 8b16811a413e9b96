//! The configuration that is written: tables, their keys, and the source line of each.
//!
//! It knows TOML's form and none of our keys. What may not stand is taken out again by `validation`.

use crate::notes::shorten;
use crate::source::Source;

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
    pub source: Source,
    pub directive: String,
    /// An invalid entry removes the whole table. A rule without its condition would match every request.
    pub atomic: bool,
    pub entries: Vec<TomlEntry>,
}

#[derive(Clone, Debug)]
pub struct TomlEntry {
    pub key: &'static str,
    pub value: TomlValue,
    pub source: Source,
    /// What else it is made of.
    pub more_sources: Vec<Source>,
    /// Without it the table may not stand: what protects must not be lost.
    pub essential: bool,
}

/// A value, as TOML writes it.
#[derive(Clone, Debug)]
pub enum TomlValue {
    /// On the key's line.
    Single(String),
    /// A list with a line for each.
    List(Vec<ListItem>),
}

/// One value of a list, as TOML writes it.
#[derive(Clone, Debug)]
pub struct ListItem {
    pub value: String,
    pub source: Source,
}

/// Something that is written, for the account of the source.
#[derive(Clone, Debug)]
pub struct WrittenEntry {
    pub source: Source,
    pub text: String,
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
    pub fn new(path: impl Into<String>, source: Source, directive: &str) -> TomlTable {
        let path = path.into();
        let directive = shorten(directive);
        TomlTable { path, repeated: false, source, directive, atomic: false, entries: Vec::new() }
    }

    /// `[[path]]`, of which one mistake takes all out.
    pub fn one_of(path: impl Into<String>, source: Source, directive: &str) -> TomlTable {
        TomlTable { repeated: true, atomic: true, ..TomlTable::new(path, source, directive) }
    }

    /// Sets a key, in the place of an earlier one.
    pub fn set(&mut self, key: &'static str, value: impl Into<String>, source: Source) {
        self.insert(key, TomlValue::Single(value.into()), source, false);
    }

    /// Sets a key without which the table may not stand.
    pub fn set_required(&mut self, key: &'static str, value: impl Into<String>, source: Source) {
        self.insert(key, TomlValue::Single(value.into()), source, true);
    }

    fn insert(&mut self, key: &'static str, value: TomlValue, source: Source, essential: bool) {
        self.entries.retain(|entry| entry.key != key);
        self.entries.push(TomlEntry { key, value, source, more_sources: Vec::new(), essential });
    }

    /// One more of a list.
    pub fn push_item(&mut self, key: &'static str, value: String, source: Source) {
        let known = self.entries.iter_mut().find(|entry| entry.key == key);
        match known.map(|entry| &mut entry.value) {
            Some(TomlValue::List(list)) => list.push(ListItem { value, source }),
            _ => self.insert(key, TomlValue::List(vec![ListItem { value, source }]), source, false),
        }
    }

    /// What else a key is made of.
    pub fn add_sources(&mut self, key: &str, sources: &[Source]) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key) {
            entry.more_sources.extend_from_slice(sources);
        }
    }

    /// Where a key came from.
    pub fn source_of(&self, key: &str) -> Option<Source> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| entry.source)
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

    /// Each table, key and item of a list, with the source it came from.
    pub fn written_entries(&self) -> Vec<WrittenEntry> {
        let mut out = Vec::new();
        for table in self.tables.iter().filter(|table| !table.entries.is_empty()) {
            out.push(WrittenEntry { source: table.source, text: format!("[{}]", table.path) });
            for entry in &table.entries {
                let key = format!("{}.{}", table.path, entry.key);
                match &entry.value {
                    TomlValue::Single(value) => {
                        let sources = std::iter::once(&entry.source).chain(&entry.more_sources);
                        out.extend(sources.map(|source| WrittenEntry {
                            source: *source,
                            text: format!("{key} = {value}"),
                        }));
                    }
                    TomlValue::List(items) => out.extend(items.iter().map(|item| WrittenEntry {
                        source: item.source,
                        text: format!("{key} = [{}]", item.value),
                    })),
                }
            }
        }
        out
    }

    /// The text, and what stands on each of its lines.
    pub fn render(&self, file: &str) -> (String, Vec<LineContent>) {
        let mut page = TomlWriter::default();
        for (at, table) in self.tables.iter().enumerate() {
            if table.entries.is_empty() {
                continue;
            }
            if at > 0 {
                page.line("", LineContent::Fixed);
            }
            if table.source.line() > 0 {
                let origin =
                    format!("# {}:{} {}", shorten(file), table.source.line(), table.directive);
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
                self.line(
                    &format!("{} = {value}{}", entry.key, origin_comment(entry.source)),
                    slot,
                );
            }
            TomlValue::List(items) => {
                self.line(&format!("{} = [", entry.key), slot);
                for (at, item) in items.iter().enumerate() {
                    let text = format!("  {},{}", item.value, origin_comment(item.source));
                    self.line(&text, LineContent::Item(table, which, at));
                }
                self.line("]", slot);
            }
        }
    }
}

fn origin_comment(source: Source) -> String {
    match source.line() {
        0 => String::new(),
        line => format!(" # line {line}"),
    }
}
