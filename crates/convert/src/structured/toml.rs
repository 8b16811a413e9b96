//! Reads TOML into a tree.

use toml_edit::{Array, Document, Item, Key, TableLike, Value};

use crate::notes::ConversionNotes;
use crate::structured::builder::{ContainerKind, TreeBuilder, TreeError};
use crate::structured::node::{ConfigNode, ScalarNotation};

/// Reads a text. `rename` gives a key the name that its dialect knows. `None` if the text cannot be read, which is
/// reported as unreadable.
pub fn read_toml(
    text: &str,
    rename: fn(&str) -> String,
    notes: &mut ConversionNotes,
) -> Option<ConfigNode> {
    let mut reader = TomlReader {
        text,
        lines: std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect(),
        builder: TreeBuilder::new(rename, false),
    };
    match reader.read() {
        Ok(()) => reader.builder.finish(notes),
        Err(error) => {
            let at = (error.line as usize).saturating_sub(1);
            let given = text.lines().nth(at).unwrap_or_default().trim();
            let named = if error.text.is_empty() { given } else { &error.text };
            TreeError::new(error.line, named, &error.reason).report(notes);
            None
        }
    }
}

struct TomlReader<'t> {
    text: &'t str,
    /// The byte at which each line starts.
    lines: Vec<usize>,
    builder: TreeBuilder,
}

impl TomlReader<'_> {
    fn read(&mut self) -> Result<(), TreeError> {
        let document = Document::parse(self.text).map_err(|error| {
            let line = self.line_of(error.span().map(|span| span.start), 1);
            TreeError::new(line, "", &format!("it is not TOML: {}", error.message()))
        })?;
        self.read_table(document.as_table(), 1)
    }

    /// The line of a byte, or `outer` where the place is not known.
    fn line_of(&self, byte: Option<usize>, outer: u32) -> u32 {
        let line = byte.map(|byte| self.lines.partition_point(|start| *start <= byte));
        line.and_then(|line| u32::try_from(line).ok()).unwrap_or(outer)
    }

    fn read_table(&mut self, table: &dyn TableLike, line: u32) -> Result<(), TreeError> {
        self.builder.open(ContainerKind::Map, line)?;
        for (name, item) in table.iter() {
            let key = table.key(name).and_then(Key::span).map(|span| span.start);
            let line = self.line_of(key.or_else(|| item.span().map(|span| span.start)), line);
            self.builder.start_entry(name, line)?;
            self.read_item(item, line)?;
        }
        self.builder.close(line)
    }

    fn read_item(&mut self, item: &Item, line: u32) -> Result<(), TreeError> {
        match item {
            Item::None => self.builder.add_null(line),
            Item::Value(value) => self.read_value(value, line),
            Item::Table(table) => self.read_table(table, line),
            Item::ArrayOfTables(tables) => {
                self.builder.open(ContainerKind::List, line)?;
                for table in tables {
                    let line = self.line_of(table.span().map(|span| span.start), line);
                    self.read_table(table, line)?;
                }
                self.builder.close(line)
            }
        }
    }

    fn read_value(&mut self, value: &Value, line: u32) -> Result<(), TreeError> {
        match value {
            Value::InlineTable(table) => self.read_table(table, line),
            Value::Array(array) => self.read_array(array, line),
            Value::String(text) => {
                let raw = value.span().and_then(|span| self.text.get(span)).unwrap_or_default();
                let is_block = raw.starts_with("\"\"\"") || raw.starts_with("'''");
                let notation =
                    if is_block { ScalarNotation::Block } else { ScalarNotation::Quoted };
                self.builder.add_scalar(text.value(), notation, line)
            }
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {
                let raw = value.span().and_then(|span| self.text.get(span)).unwrap_or_default();
                self.builder.add_scalar(raw, ScalarNotation::Plain, line)
            }
        }
    }

    fn read_array(&mut self, array: &Array, line: u32) -> Result<(), TreeError> {
        self.builder.open(ContainerKind::List, line)?;
        for value in array {
            let line = self.line_of(value.span().map(|span| span.start), line);
            self.read_value(value, line)?;
        }
        self.builder.close(line)
    }
}
