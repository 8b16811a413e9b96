//! Reads YAML 1.2, and JSON, which is a part of it, into a tree.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::builder::{ContainerKind, TreeBuilder, TreeError};
use crate::structured::node::{ConfigNode, ScalarNotation};

/// Reads the first document of a text. `rename` gives a key the name that its dialect knows. `None` if the text has no
/// document or cannot be read; the latter is reported as unreadable.
pub fn read_yaml(
    text: &str,
    rename: fn(&str) -> String,
    notes: &mut ConversionNotes,
) -> Option<ConfigNode> {
    let mut reader = YamlEventReader {
        builder: TreeBuilder::new(rename, true),
        anchors: HashMap::new(),
        open_anchors: Vec::new(),
        documents: 0,
        second: None,
    };
    let outcome = reader.read(text);
    if let Err(error) = outcome {
        let given = text.lines().nth((error.line as usize).saturating_sub(1)).unwrap_or_default();
        let named = if error.text.is_empty() { given.trim() } else { &error.text };
        TreeError::new(error.line, named, &error.reason).report(notes);
        return None;
    }
    if let Some(line) = reader.second {
        let reason = "only the first document of a file is read";
        let instead = "convert each document of its own";
        notes.left_out(SourcePlace::at_line(line), "---", reason, instead);
    }
    reader.builder.finish(notes)
}

struct YamlEventReader {
    builder: TreeBuilder,
    /// The nodes that aliases may copy, by the parser's numbers. Numbers start at 1.
    anchors: HashMap<usize, ConfigNode>,
    /// The anchors of the open blocks; 0 means none.
    open_anchors: Vec<usize>,
    documents: usize,
    /// The line of a second document.
    second: Option<u32>,
}

impl YamlEventReader {
    fn read(&mut self, text: &str) -> Result<(), TreeError> {
        let mut parser = Parser::new_from_str(text);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| {
                let line = u32::try_from(error.marker().line()).unwrap_or(u32::MAX);
                TreeError::new(line, "", &format!("it is not YAML: {}", error.info()))
            })?;
            let line = u32::try_from(span.start.line()).unwrap_or(u32::MAX);
            self.take_event(&event, line)?;
            if self.second.is_some() || event == Event::StreamEnd {
                break;
            }
        }
        Ok(())
    }

    fn take_event(&mut self, event: &Event<'_>, line: u32) -> Result<(), TreeError> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.second = Some(line);
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                check_tag(tag.as_deref(), line)?;
                self.add_scalar(text, *style, tag.is_some(), line)?;
                self.record(*anchor);
            }
            Event::Alias(anchor) => {
                let node = self.anchors.get(anchor).cloned();
                let Some(node) = node.filter(|_| !self.builder.expects_key()) else {
                    let reason = "an alias stands for a key or for a block that contains it";
                    return Err(TreeError::new(line, "", reason));
                };
                self.builder.add_copy(&node, line)?;
            }
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_deref(), line)?;
                self.open(ContainerKind::List, *anchor, line)?;
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_deref(), line)?;
                self.open(ContainerKind::Map, *anchor, line)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.builder.close(line)?;
                if let Some(anchor) = self.open_anchors.pop() {
                    self.record(anchor);
                }
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn add_scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tagged: bool,
        line: u32,
    ) -> Result<(), TreeError> {
        if self.builder.expects_key() {
            return self.builder.start_entry(text, line);
        }
        let is_null = matches!(text, "" | "~" | "null" | "Null" | "NULL");
        match style {
            ScalarStyle::Plain if is_null && !tagged => self.builder.add_null(line),
            ScalarStyle::Plain => self.builder.add_scalar(text, ScalarNotation::Plain, line),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                self.builder.add_scalar(text, ScalarNotation::Quoted, line)
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                self.builder.add_scalar(text, ScalarNotation::Block, line)
            }
        }
    }

    fn open(&mut self, kind: ContainerKind, anchor: usize, line: u32) -> Result<(), TreeError> {
        if self.builder.expects_key() {
            return Err(TreeError::new(line, "", "a list or a map stands where a key should be"));
        }
        self.open_anchors.push(anchor);
        self.builder.open(kind, line)
    }

    /// Keeps the last node for aliases.
    fn record(&mut self, anchor: usize) {
        if anchor > 0
            && let Some(node) = self.builder.last_node()
        {
            self.anchors.insert(anchor, node.clone());
        }
    }
}

/// Tags of the core schema say what a value is anyway. Other tags ask the tool for something that is not in the file.
fn check_tag(tag: Option<&Tag>, line: u32) -> Result<(), TreeError> {
    let Some(tag) = tag else { return Ok(()) };
    let core = ["str", "int", "float", "bool", "null", "map", "seq"];
    let known = tag.is_yaml_core_schema() && core.contains(&tag.suffix.as_str());
    if known || tag.handle.is_empty() && tag.suffix == "!" {
        return Ok(());
    }
    let reason = "only the tool that reads the file knows what the tag stands for";
    Err(TreeError::new(line, &tag.to_string(), reason))
}
