//! Generates the configuration reference from the schema, as Markdown and as data. It knows no key by name.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::decode::expectation::describe_expected;
use super::file_root::ROOT;
use super::schema::{DefaultValue, KeySchema, TableSchema, TableShorthand, ValueKind};

pub fn render_reference() -> String {
    let mut text = ReferenceWriter { text: INTRODUCTION.to_owned(), written: Vec::new() };
    for key in ROOT.keys {
        match &key.kind {
            ValueKind::Named { table, most, .. } => {
                let path = format!("{}.NAME", key.name);
                let note = format!("{} At most {most}.", key.doc);
                text.write_section(table, &path, &format!("[{path}]"), &note);
            }
            ValueKind::Table { table, .. } => {
                text.write_section(table, key.name, &format!("[{}]", key.name), key.doc)
            }
            _ => {}
        }
    }
    text.text
}

/// A table of the configuration in the reference data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReferenceTable {
    /// The path, with `NAME` for chosen names: `pool.NAME.probe`.
    pub path: String,
    /// Whether the table can be repeated, as `[[path]]`.
    pub list: bool,
    /// Keys of the table.
    pub keys: Vec<ReferenceKey>,
}

/// A key in the reference data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReferenceKey {
    /// Name of the key.
    pub name: String,
    /// A description of valid values, with keywords in quotes.
    pub value: String,
    /// The default if the key is absent.
    pub default: String,
    /// The description of the key.
    pub doc: String,
}

/// All tables, outer ones first.
pub fn reference_tables() -> Vec<ReferenceTable> {
    let mut out = Vec::new();
    for key in ROOT.keys {
        let (table, path) = match &key.kind {
            ValueKind::Named { table, .. } => (table, format!("{}.NAME", key.name)),
            ValueKind::Table { table, .. } => (table, key.name.to_owned()),
            _ => continue,
        };
        collect_tables(&mut out, table, path, false, &mut Vec::new());
    }
    out
}

fn collect_tables(
    out: &mut Vec<ReferenceTable>,
    table: &'static TableSchema,
    path: String,
    list: bool,
    above: &mut Vec<&'static TableSchema>,
) {
    // A table inside itself is described once.
    if above.iter().any(|other| std::ptr::eq(*other, table)) {
        return;
    }
    above.push(table);
    let known = || table.keys.iter().filter(|key| !matches!(key.kind, ValueKind::Refused(_)));
    let text = |key: &KeySchema| ReferenceKey {
        name: key.name.to_owned(),
        value: describe_value(key),
        default: describe_default(key),
        doc: key.doc.to_owned(),
    };
    out.push(ReferenceTable { path: path.clone(), list, keys: known().map(text).collect() });
    for key in known() {
        let (table, list) = match &key.kind {
            ValueKind::Table { table, .. } => (table, false),
            ValueKind::List { table, .. } => (table, true),
            _ => continue,
        };
        collect_tables(out, table, format!("{path}.{}", key.name), list, above);
    }
    above.pop();
}

const INTRODUCTION: &str = "\
# Configuration reference

Written from the schema that reads the file; a test keeps it fresh (`UPDATE_EXPECT=1 cargo test -p model`).

The file is TOML, at most 4 MiB. Times, sizes and rates carry their unit: `\"30s\"`, `\"250ms\"`, `\"1h30m\"` (`d`, `h`, `m`,
`s`, `ms`, `us`, `ns`); `\"64KiB\"`, `\"1MB\"` (`B`, `kB`, `MB`, `GB`, `TB`, `KiB`, `MiB`, `GiB`, `TiB`); `\"10Gbit/s\"` (`bit/s`,
`kbit/s`, `Mbit/s`, `Gbit/s`, `Tbit/s`, or `B/s`, `kB/s`, `MB/s`, `GB/s`). A bare number is refused where a unit belongs.
Names are kebab-case: lower-case letters, digits, and single `-` between them.

What a service or a pool does not set is taken from `[global]` where the key is marked *inherited*; what a server does
not set is taken from its pool. Tables are inherited key by key; `\"off\"` written nearer wins. What is set nowhere has
the default. `steelyard check --explain` prints every active value and where it came from.

Unknown keys, and settings that contradict each other or that this build does not carry, are errors.
";

struct ReferenceWriter {
    text: String,
    /// Tables written so far, with their headers.
    written: Vec<WrittenTable>,
}

/// A table of the reference, and the header under which its keys stand.
struct WrittenTable {
    table: &'static TableSchema,
    header: String,
}

impl ReferenceWriter {
    fn write_section(&mut self, table: &'static TableSchema, path: &str, header: &str, note: &str) {
        // Writing into a String cannot fail.
        let _ = write!(self.text, "\n## `{header}`\n\n{note}\n");
        if let Some(before) = self.written.iter().find(|other| std::ptr::eq(other.table, table)) {
            let _ = writeln!(self.text, "\nIts keys are those of `{}`.", before.header);
            return;
        }
        self.written.push(WrittenTable { table, header: header.to_owned() });
        self.text.push_str("\n| key | value | default | meaning |\n|---|---|---|---|\n");
        let known = || table.keys.iter().filter(|key| !matches!(key.kind, ValueKind::Refused(_)));
        for key in known() {
            self.text.push_str(&format_row(key));
        }
        for key in known() {
            let below = format!("{path}.{}", key.name);
            match &key.kind {
                ValueKind::Table { table, .. } => {
                    self.write_section(table, &below, &format!("[{below}]"), key.doc)
                }
                ValueKind::List { table, .. } => {
                    self.write_section(table, &below, &format!("[[{below}]]"), key.doc)
                }
                _ => {}
            }
        }
    }
}

fn format_row(key: &KeySchema) -> String {
    let mut meaning = key.doc.to_owned();
    if key.inherits {
        meaning.push_str(" *Inherited.*");
    }
    if key.http_only {
        meaning.push_str(" *`http` only.*");
    }
    if key.packets_only {
        meaning.push_str(" *`mac`, `nat`, `tunnel` only.*");
    }
    if key.proxy_only {
        meaning.push_str(" *`http` and `tcp` only.*");
    }
    let cells =
        [describe_value(key), describe_default(key), meaning].map(|text| text.replace('|', "\\|"));
    format!("| `{}` | {} |\n", key.name, cells.join(" | "))
}

fn describe_value(key: &KeySchema) -> String {
    match &key.kind {
        ValueKind::Table { table, short, unset } => {
            let mut forms = vec!["a table".to_owned()];
            match short {
                TableShorthand::None => {}
                TableShorthand::Flags(words) => {
                    forms.extend(words.iter().map(|word| format!("\"{word}\"")))
                }
                TableShorthand::Switch => forms.push("true".to_owned()),
                TableShorthand::Key(name) => {
                    forms.extend(table.find(name).map(|found| describe_expected(&found.key.kind)))
                }
            }
            forms.extend(unset.map(|word| format!("\"{word}\"")));
            forms.join("; or ")
        }
        ValueKind::List { .. } => "a list of tables, or of addresses".to_owned(),
        kind => describe_expected(kind),
    }
}

fn describe_default(key: &KeySchema) -> String {
    match &key.default {
        DefaultValue::Required => "required".to_owned(),
        DefaultValue::Literal(value) => format!("`{value}`"),
        DefaultValue::Absent => "none".to_owned(),
        DefaultValue::Inner => "its keys' own".to_owned(),
        DefaultValue::Derived(why) => (*why).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_get_every_table_with_its_keys() {
        let tables = reference_tables();
        let table = |path: &str| tables.iter().find(|table| table.path == path).unwrap();
        let pool = table("pool.NAME");
        let balance = pool.keys.iter().find(|key| key.name == "balance").unwrap();
        assert!(balance.value.contains("\"least-request\""), "{balance:?}");
        assert!(table("pool.NAME.servers").list && !table("global").list);
        assert!(tables.iter().all(|table| !table.keys.is_empty()));
    }
}
