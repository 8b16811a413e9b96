//! Reads the documents of a YAML text, or of JSON, into values. It knows no object of Kubernetes.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};

/// The most values of one text, with those that aliases copy.
const VALUES_MAX: usize = 2_000_000;
/// The most levels of lists and maps.
const DEPTH_MAX: usize = 64;

/// One document of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlDocument {
    /// The line it begins in, from 1.
    pub line: usize,
    pub value: Value,
}

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct YamlError {
    /// From 1.
    pub line: usize,
    pub reason: String,
}

/// Reads all documents of a text. Empty ones are left out.
///
/// # Errors
/// The text is no YAML, has too many values, or a tag that only another program knows.
pub fn read_documents(text: &str) -> Result<Vec<YamlDocument>, YamlError> {
    // Large lists of `kubectl get -o json` are read several times as quickly by a parser of JSON.
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(vec![YamlDocument { line: 1, value }]);
    }
    let mut reader = DocumentReader::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let found = event.map_err(|error| YamlError {
            line: error.marker().line(),
            reason: format!("it is not YAML: {}", error.info()),
        })?;
        reader.line = found.1.start.line();
        reader.take_event(&found.0)?;
    }
    Ok(reader.documents)
}

#[derive(Default)]
struct DocumentReader {
    documents: Vec<YamlDocument>,
    /// The lists and maps that are not closed yet, the outermost first.
    open: Vec<UnclosedContainer>,
    /// Values that aliases may copy, by the parser's numbers. Numbers start at 1.
    anchors: HashMap<usize, AnchoredValue>,
    values: usize,
    line: usize,
    begin: usize,
}

#[derive(Clone)]
struct AnchoredValue {
    value: Value,
    size: usize,
}

struct UnclosedContainer {
    content: ContainerContent,
    anchor: usize,
    /// The number of values before it.
    values_before: usize,
}

enum ContainerContent {
    List(Vec<Value>),
    /// The entries, and the key whose value comes next.
    Map {
        entries: Map<String, Value>,
        key: Option<String>,
    },
}

impl DocumentReader {
    fn take_event(&mut self, event: &Event<'_>) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(_) => self.begin = self.line,
            Event::Scalar(text, style, anchor, tag) => {
                self.check_tag(tag.as_deref())?;
                if self.expects_key() {
                    return self.take_key(text);
                }
                let value = match style {
                    ScalarStyle::Plain if tag.is_none() => plain_value(text),
                    _ => Value::String(text.to_string()),
                };
                self.count(1)?;
                self.record(*anchor, &value, 1);
                self.add(value)?;
            }
            Event::Alias(anchor) => {
                let known = self.anchors.get(anchor).filter(|_| !self.expects_key());
                let Some(copy) = known.cloned() else {
                    return self.fail("an alias stands for a key or for a block that contains it");
                };
                self.count(copy.size)?;
                self.add(copy.value)?;
            }
            Event::SequenceStart(anchor, tag) => {
                self.check_tag(tag.as_deref())?;
                self.open(ContainerContent::List(Vec::new()), *anchor)?;
            }
            Event::MappingStart(anchor, tag) => {
                self.check_tag(tag.as_deref())?;
                self.open(ContainerContent::Map { entries: Map::new(), key: None }, *anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn expects_key(&self) -> bool {
        let last = self.open.last().map(|open| &open.content);
        matches!(last, Some(ContainerContent::Map { key: None, .. }))
    }

    fn take_key(&mut self, text: &str) -> Result<(), YamlError> {
        let Some(UnclosedContainer { content: ContainerContent::Map { entries, key }, .. }) =
            self.open.last_mut()
        else {
            return Ok(());
        };
        if entries.contains_key(text) {
            let reason = format!("the key `{text}` stands twice in one map");
            return Err(YamlError { line: self.line, reason });
        }
        *key = Some(text.to_owned());
        Ok(())
    }

    fn open(&mut self, content: ContainerContent, anchor: usize) -> Result<(), YamlError> {
        if self.expects_key() {
            return self.fail("a list or a map stands where a key should be");
        }
        if self.open.len() >= DEPTH_MAX {
            return self.fail(&format!("more than {DEPTH_MAX} lists and maps in each other"));
        }
        let values_before = self.values;
        self.count(1)?;
        self.open.push(UnclosedContainer { content, anchor, values_before });
        Ok(())
    }

    fn close(&mut self) -> Result<(), YamlError> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.content {
            ContainerContent::List(items) => Value::Array(items),
            ContainerContent::Map { entries, .. } => Value::Object(entries),
        };
        self.record(open.anchor, &value, self.values - open.values_before);
        self.add(value)
    }

    fn add(&mut self, value: Value) -> Result<(), YamlError> {
        match self.open.last_mut().map(|open| &mut open.content) {
            Some(ContainerContent::List(items)) => items.push(value),
            Some(ContainerContent::Map { entries, key }) => match key.take() {
                Some(key) => drop(entries.insert(key, value)),
                None => return self.fail("a value stands where a key should be"),
            },
            None if value.is_null() => {}
            None => self.documents.push(YamlDocument { line: self.begin, value }),
        }
        Ok(())
    }

    fn record(&mut self, anchor: usize, value: &Value, size: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, AnchoredValue { value: value.clone(), size });
        }
    }

    fn count(&mut self, more: usize) -> Result<(), YamlError> {
        self.values = self.values.saturating_add(more);
        if self.values > VALUES_MAX {
            return self.fail(&format!("the text has more than {VALUES_MAX} values"));
        }
        Ok(())
    }

    /// Tags of the core schema say what a value is anyway.
    fn check_tag(&self, tag: Option<&Tag>) -> Result<(), YamlError> {
        let Some(tag) = tag else { return Ok(()) };
        let core = ["str", "map", "seq"];
        if tag.is_yaml_core_schema() && core.contains(&tag.suffix.as_str()) {
            return Ok(());
        }
        self.fail(&format!("the tag `{tag}` is not known"))
    }

    fn fail<T>(&self, reason: &str) -> Result<T, YamlError> {
        Err(YamlError { line: self.line, reason: reason.to_owned() })
    }
}

/// What a text without quotes stands for (YAML 1.2, core schema).
fn plain_value(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    if let Ok(whole) = text.parse::<i64>()
        && !text.starts_with('+')
    {
        return Value::Number(whole.into());
    }
    let is_number = text.contains(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    let decimal = text.parse::<f64>().ok().filter(|_| is_number).and_then(Number::from_f64);
    decimal.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_read_with_their_lines() {
        let text = "a: 1\nb: [x, 'true', 1.5, ~]\n---\n---\nc: &k {d: yes}\ne: *k\n";
        let found = read_documents(text).unwrap();
        let values: Vec<Value> = found.iter().map(|document| document.value.clone()).collect();
        assert_eq!(
            values,
            [
                json!({"a": 1, "b": ["x", "true", 1.5, null]}),
                json!({"c": {"d": "yes"}, "e": {"d": "yes"}})
            ]
        );
        assert_eq!(found[1].line, 4);
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        for (text, line, reason) in [
            ("a: 1\na: 2\n", 2, "the key `a` stands twice in one map"),
            ("a: [1\n", 2, "it is not YAML"),
            ("a: !secret x\n", 1, "the tag `!secret` is not known"),
            ("? [a]\n: b\n", 1, "a list or a map stands where a key should be"),
        ] {
            let error = read_documents(text).unwrap_err();
            assert!(error.reason.contains(reason), "{text}: {error}");
            assert_eq!(error.line, line, "{text}");
        }
    }

    #[test]
    fn aliases_cannot_fill_the_memory() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let before = level - 1;
            let copies = vec![format!("*a{before}"); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{copies}]\n"));
        }
        let error = read_documents(&text).unwrap_err();
        assert!(error.reason.contains("more than 2000000 values"), "{error}");
    }
}
