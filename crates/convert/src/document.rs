//! The configuration that is being written: tables, their keys, and where each came from.
//!
//! It knows TOML's form and none of our keys. What may not stand is taken out again by `fit`.

use crate::notes::shown;

/// Tables of one document; what comes beyond is refused.
pub const TABLES: usize = 20_000;

/// Tables in their order.
#[derive(Debug, Default)]
pub struct Document {
    /// They.
    pub tables: Vec<Table>,
    /// Tables that had no room.
    pub refused: usize,
}

/// One table.
#[derive(Clone, Debug)]
pub struct Table {
    /// `service.shop`, without brackets.
    pub path: String,
    /// One of several of this path: `[[…]]`.
    pub many: bool,
    /// The line it came from; 0: of none.
    pub line: u32,
    /// What stands there.
    pub directive: String,
    /// One mistake takes all of it out: a rule without its condition would take everything.
    pub whole: bool,
    /// Its keys.
    pub entries: Vec<Entry>,
}

/// One key.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub key: &'static str,
    /// Its value.
    pub value: Value,
    /// The line it came from.
    pub line: u32,
    /// Without it the table may not stand: what protects must not be lost.
    pub essential: bool,
}

/// A value, as TOML writes it.
#[derive(Clone, Debug)]
pub enum Value {
    /// On the key's line.
    One(String),
    /// A list with a line for each, and where each came from.
    List(Vec<(String, u32)>),
}

/// What stands on a line of the rendered text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing that can be taken out.
    Nothing,
    /// A table's header.
    Table(usize),
    /// A key of a table.
    Entry(usize, usize),
    /// One of a key's list.
    Item(usize, usize, usize),
}

impl Table {
    /// `[path]`.
    pub fn new(path: impl Into<String>, line: u32, directive: &str) -> Table {
        let (path, directive) = (path.into(), shown(directive));
        Table { path, many: false, line, directive, whole: false, entries: Vec::new() }
    }

    /// `[[path]]`, of which one mistake takes all out.
    pub fn one_of(path: impl Into<String>, line: u32, directive: &str) -> Table {
        Table { many: true, whole: true, ..Table::new(path, line, directive) }
    }

    /// Sets a key, in the place of an earlier one.
    pub fn set(&mut self, key: &'static str, value: impl Into<String>, line: u32) {
        self.put(key, Value::One(value.into()), line, false);
    }

    /// Sets a key without which the table may not stand.
    pub fn must(&mut self, key: &'static str, value: impl Into<String>, line: u32) {
        self.put(key, Value::One(value.into()), line, true);
    }

    fn put(&mut self, key: &'static str, value: Value, line: u32, essential: bool) {
        self.entries.retain(|entry| entry.key != key);
        self.entries.push(Entry { key, value, line, essential });
    }

    /// One more of a list.
    pub fn item(&mut self, key: &'static str, value: String, line: u32) {
        let known = self.entries.iter_mut().find(|entry| entry.key == key);
        match known.map(|entry| &mut entry.value) {
            Some(Value::List(list)) => list.push((value, line)),
            _ => self.put(key, Value::List(vec![(value, line)]), line, false),
        }
    }

    /// Whether it has a key.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// A key's value on one line.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|entry| entry.key == key).and_then(|entry| match &entry.value {
            Value::One(value) => Some(value.as_str()),
            Value::List(_) => None,
        })
    }
}

impl Document {
    /// One more table, if there is room.
    pub fn push(&mut self, table: Table) {
        if self.tables.len() < TABLES {
            self.tables.push(table);
        } else {
            self.refused += 1;
        }
    }

    /// The table of a path.
    pub fn find(&mut self, path: &str) -> Option<&mut Table> {
        self.tables.iter_mut().find(|table| !table.many && table.path == path)
    }

    /// The text, and what stands on each of its lines.
    pub fn render(&self, file: &str) -> (String, Vec<Slot>) {
        let mut page = Page::default();
        for (at, table) in self.tables.iter().enumerate() {
            if table.entries.is_empty() {
                continue;
            }
            if at > 0 {
                page.line("", Slot::Nothing);
            }
            if table.line > 0 {
                let origin = format!("# {}:{} {}", shown(file), table.line, table.directive);
                page.line(origin.trim_end(), Slot::Nothing);
            }
            let header = if table.many {
                format!("[[{}]]", table.path)
            } else {
                format!("[{}]", table.path)
            };
            page.line(&header, Slot::Table(at));
            for (which, entry) in table.entries.iter().enumerate() {
                page.entry(entry, (at, which));
            }
        }
        (page.text, page.slots)
    }
}

#[derive(Default)]
struct Page {
    text: String,
    slots: Vec<Slot>,
}

impl Page {
    fn line(&mut self, text: &str, slot: Slot) {
        self.text.push_str(text);
        self.text.push('\n');
        self.slots.push(slot);
    }

    fn entry(&mut self, entry: &Entry, (table, which): (usize, usize)) {
        let slot = Slot::Entry(table, which);
        match &entry.value {
            Value::One(value) => {
                self.line(&format!("{} = {value}{}", entry.key, origin(entry.line)), slot);
            }
            Value::List(items) => {
                self.line(&format!("{} = [", entry.key), slot);
                for (at, (item, line)) in items.iter().enumerate() {
                    let text = format!("  {item},{}", origin(*line));
                    self.line(&text, Slot::Item(table, which, at));
                }
                self.line("]", slot);
            }
        }
    }
}

fn origin(line: u32) -> String {
    if line > 0 { format!(" # line {line}") } else { String::new() }
}
