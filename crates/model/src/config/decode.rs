//! From the parsed file to sections: every value typed, bounded and placed, every mistake reported.
//!
//! It walks the file along the schema and looks at one key at a time; how keys relate is `verify`'s matter, and
//! what holds where nothing is written is `resolve`'s.

pub mod address;
mod form;
mod lists;
mod name;
pub mod packets;
mod punycode;
pub mod scalar;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::finding::{Sink, Trouble};
use super::schema::{Form, Key, Kind, Short, Table};
use super::section::{Origin, Section, Slot};
use super::source::Place;
use super::suggest::nearest;
use super::value::Value;

/// Walks one file.
#[derive(Debug)]
pub struct Decoder<'d, 's, 't> {
    sink: &'d mut Sink<'s, 't>,
    path: Path,
    /// Elements read so far of each kind of list.
    elements: Vec<(&'static Table, usize)>,
}

/// Where the walk is, as text.
#[derive(Debug, Default)]
struct Path {
    text: String,
    marks: Vec<usize>,
}

type Node<'i> = Spanned<DeValue<'i>>;

impl<'d, 's, 't> Decoder<'d, 's, 't> {
    /// Report into `sink`.
    pub fn new(sink: &'d mut Sink<'s, 't>) -> Self {
        Decoder { sink, path: Path::default(), elements: Vec::new() }
    }

    /// Read a table: unknown keys, refused keys and wrong values are reported, the rest is kept.
    pub fn table(&mut self, table: &'static Table, node: &DeTable<'_>, place: Place) -> Section {
        let mut section = Section::new(table, place);
        for (name, value) in node.iter() {
            self.path.push(name.get_ref());
            match table.find(name.get_ref()) {
                None => self.unknown(table, name.get_ref(), name.span().into()),
                Some((_, Key { kind: Kind::Refused(reason), .. })) => {
                    let message = format!("`{}` cannot be set here: {reason}", name.get_ref());
                    self.error(
                        name.span().into(),
                        Trouble::new(message).found(name.get_ref().to_string()),
                    );
                }
                Some((at, key)) => {
                    let place = if value.get_ref().is_table() { name.span() } else { value.span() };
                    let slot = self.slot(key, value).unwrap_or(Slot::Broken);
                    section.put(at, slot, Origin::Written(place.into()));
                }
            }
            self.path.pop();
        }
        self.choices(table, &section);
        section
    }

    fn slot(&mut self, key: &'static Key, node: &Node<'_>) -> Option<Slot> {
        if node.span().is_empty() {
            // The parser's stand-in for what it could not read, and has reported.
            return None;
        }
        match &key.kind {
            Kind::Table { table, short, unset } => self.table_or_short(table, *short, *unset, node),
            Kind::List { table, short, most } => self.list(table, *short, *most, node),
            Kind::Named { table, form, most } => self.named(key, table, (*form, *most), node),
            kind => self.scalar(kind, node).map(Slot::Value),
        }
    }

    fn scalar(&mut self, kind: &Kind, node: &Node<'_>) -> Option<Value> {
        match scalar::read(kind, node.get_ref()) {
            Ok(value) => Some(value),
            Err(trouble) => {
                let shown = shown(node.get_ref());
                self.error(
                    node.span().into(),
                    shown.map_or(trouble.clone(), |text| trouble.found(text)),
                );
                None
            }
        }
    }

    fn table_or_short(
        &mut self,
        table: &'static Table,
        short: Short,
        unset: Option<&'static str>,
        node: &Node<'_>,
    ) -> Option<Slot> {
        let place: Place = node.span().into();
        match (node.get_ref(), short) {
            (DeValue::Table(inner), _) => {
                return Some(Slot::Table(self.table(table, inner, place)));
            }
            (DeValue::String(word), _) if unset == Some(word) => {
                return unset.map(|word| Slot::Value(Value::Unset(word)));
            }
            (DeValue::String(word), Short::Flags(flags)) if flags.contains(&word.as_ref()) => {
                return self.short(table, word, Value::Flag(true), place);
            }
            (DeValue::Boolean(true), Short::On) => {
                return Some(Slot::Table(Section::new(table, place)));
            }
            (DeValue::Boolean(false), Short::On) if unset.is_some() => {
                return unset.map(|word| Slot::Value(Value::Unset(word)));
            }
            (value, Short::Key(name))
                if !matches!(value, DeValue::Array(_)) || lists::takes_lists(table, name) =>
            {
                let (_, key) = table.find(name)?;
                let value = self.scalar(&key.kind, node)?;
                return self.short(table, name, value, place);
            }
            _ => {}
        }
        self.misfit(table, short, unset, node);
        None
    }

    /// Neither a table nor one of the words that may stand for it.
    fn misfit(
        &mut self,
        table: &'static Table,
        short: Short,
        unset: Option<&'static str>,
        node: &Node<'_>,
    ) {
        let words: Vec<&str> = match short {
            Short::Flags(flags) => flags.iter().copied().chain(unset).collect(),
            _ => unset.into_iter().collect(),
        };
        let mut accepted = vec![match short {
            Short::None => form::shape(table),
            _ => "a table".to_owned(),
        }];
        accepted.extend(words.iter().map(|word| format!("\"{word}\"")));
        accepted.extend(matches!(short, Short::On).then(|| "true".to_owned()));
        let near = node.get_ref().as_str().and_then(|text| nearest(text, words));
        let near = near.map(|word| format!("\"{word}\""));
        let near = near.or_else(|| form::as_table(table, node.get_ref().as_str()?));
        let trouble =
            Trouble::new(format!("{} is not {}", scalar::kind_of(node.get_ref()), table.what))
                .expected(accepted.join(" or "))
                .suggest(near);
        self.error(node.span().into(), trouble);
    }

    fn short(
        &mut self,
        table: &'static Table,
        key: &str,
        value: Value,
        place: Place,
    ) -> Option<Slot> {
        let mut section = Section::new(table, place);
        section.set(key, value, Origin::Written(place));
        Some(Slot::Table(section))
    }

    fn list(
        &mut self,
        table: &'static Table,
        short: Short,
        most: usize,
        node: &Node<'_>,
    ) -> Option<Slot> {
        let nodes = match node.get_ref() {
            DeValue::Array(array) => array.iter().collect(),
            DeValue::String(_) => vec![node],
            other => {
                let trouble =
                    Trouble::new(format!("{} is not a list", scalar::kind_of(other))).expected(
                        format!("a list, each element {} as a table or its address", table.what),
                    );
                self.error(node.span().into(), trouble);
                return None;
            }
        };
        let mut list = Vec::with_capacity(nodes.len().min(most));
        for (at, node) in nodes.into_iter().enumerate() {
            let count = self.count(table);
            if count > most {
                if count == most + 1 {
                    let what = table.what.trim_start_matches("a ");
                    let message = format!("the file has more than {most} {what}s");
                    self.error(node.span().into(), Trouble::new(message));
                }
                continue;
            }
            self.path.push_index(at);
            // A broken element keeps its position, so that the key paths of those behind it stay true.
            let section = match self.table_or_short(table, short, None, node) {
                Some(Slot::Table(section)) => section,
                _ => self.broken(table, node.span().into()),
            };
            list.push(section);
            self.path.pop();
        }
        Some(Slot::List(list))
    }

    /// One more element of this kind in the file; how many there are now.
    fn count(&mut self, table: &'static Table) -> usize {
        let known = self.elements.iter_mut().find(|(known, _)| std::ptr::eq(*known, table));
        match known {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                self.elements.push((table, 1));
                1
            }
        }
    }

    fn broken(&mut self, table: &'static Table, place: Place) -> Section {
        let mut section = Section::new(table, place);
        for at in 0..table.keys.len() {
            section.put(at, Slot::Broken, Origin::Written(place));
        }
        section
    }

    fn named(
        &mut self,
        key: &Key,
        table: &'static Table,
        (form, most): (Form, usize),
        node: &Node<'_>,
    ) -> Option<Slot> {
        let DeValue::Table(entries) = node.get_ref() else {
            let message = format!("{} stands where names belong", scalar::kind_of(node.get_ref()));
            let trouble = Trouble::new(message).expected(format!("tables `[{}.NAME]`", key.name));
            self.error(node.span().into(), trouble);
            return None;
        };
        let mut list = Vec::with_capacity(entries.len().min(most));
        for (at, (name, value)) in entries.iter().enumerate() {
            let place: Place = name.span().into();
            if at == most {
                let message = format!(
                    "the file has {} tables `[{}.NAME]`, more than {most}",
                    entries.len(),
                    key.name
                );
                self.error(place, Trouble::new(message));
                break;
            }
            self.path.push(name.get_ref());
            if let DeValue::Table(inner) = value.get_ref() {
                let approved = match form {
                    Form::Name => self::name::name(name.get_ref(), 63),
                    form => form::read(form, name.get_ref()).map(drop),
                };
                if let Err(trouble) = approved {
                    self.error(place, trouble);
                }
                let mut section = self.table(table, inner, place);
                section.name = name.get_ref().to_string();
                list.push(section);
            } else {
                let message = format!(
                    "{} stands where {} belongs",
                    scalar::kind_of(value.get_ref()),
                    table.what
                );
                let trouble =
                    Trouble::new(message).expected(format!("tables `[{}.NAME]`", key.name));
                self.error(place, trouble);
            }
            self.path.pop();
        }
        Some(Slot::List(list))
    }

    /// Keys that exclude each other in one table.
    fn choices(&mut self, table: &'static Table, section: &Section) {
        let written = table.choices.iter().map(|group| group.iter().find(|key| section.wrote(key)));
        let written: Vec<&&str> = written.flatten().collect();
        if let [first, second, ..] = written.as_slice() {
            let place = section.place_of(second);
            let message = format!("`{first}` and `{second}` exclude each other: write one of them");
            self.path.push(second);
            self.error(place, Trouble::new(message));
            self.path.pop();
        }
    }

    fn unknown(&mut self, table: &'static Table, name: &str, place: Place) {
        let listed = table
            .keys
            .iter()
            .filter(|key| !matches!(key.kind, Kind::Refused(_)))
            .map(|key| key.name);
        let near = if self.sink.searches() { nearest(name, listed.clone()) } else { None };
        let trouble = Trouble::new(format!("`{}` is not a key of {}", clipped(name), table.what))
            .found(clipped(name))
            .expected(format!("one of {}", listed.collect::<Vec<_>>().join(", ")))
            .suggest(near.map(str::to_owned));
        self.error(place, trouble);
    }

    fn error(&mut self, place: Place, trouble: Trouble) {
        self.sink.error(place, &self.path.text, trouble);
    }
}

impl Path {
    fn push(&mut self, key: &str) {
        self.marks.push(self.text.len());
        if !self.text.is_empty() {
            self.text.push('.');
        }
        self.text.push_str(&quoted(key));
    }

    fn push_index(&mut self, at: usize) {
        self.marks.push(self.text.len());
        self.text.push_str(&format!("[{at}]"));
    }

    fn pop(&mut self) {
        let mark = self.marks.pop().unwrap_or_default();
        self.text.truncate(mark);
    }
}

/// A key as it stands in a key path: quoted unless it is bare (TOML 1.0, keys).
pub fn quoted(key: &str) -> String {
    let bare =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare {
        return key.to_owned();
    }
    let mut text = String::new();
    // Writing into a String cannot fail.
    let short: String = key.chars().take(80).collect();
    let _ = super::value::write_text(&short, &mut text);
    text
}

/// Short enough and harmless enough for a message.
fn clipped(text: &str) -> String {
    text.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A string's own text, decoded; other values show as they stand in the file.
fn shown(value: &DeValue<'_>) -> Option<String> {
    value.as_str().map(|text| format!("\"{}\"", clipped(text).escape_debug()))
}
