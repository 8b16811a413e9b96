//! A tree of keys, values, lists and maps. Each key and each value is a word of the ledger, marked when it is read.

use std::rc::Rc;

use crate::ledger::{EnteredStatement, WordAccounts};
use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;
use crate::source::{SourcePlace, SourceWords};

/// How a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarNotation {
    /// Without quotes: a text of YAML, a number, a truth value, a date.
    Plain,
    Quoted,
    /// A block of lines after `|` or `>`, or a text in three quotes.
    Block,
}

/// A text, a number or a truth value, as it was written but without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalarValue {
    pub text: String,
    pub notation: ScalarNotation,
}

/// The value of a key or of a list's item.
#[derive(Clone, Debug)]
pub enum NodeValue {
    /// Nothing, `null` or `~`.
    Null,
    Scalar(ScalarValue),
    List(Vec<ConfigNode>),
    /// Entries in the order of the file.
    Map(Vec<ConfigNode>),
}

/// A key with its value, or an item of a list.
///
/// A key with a scalar has two words, other keys have one. A scalar or an empty item of a list has one word. An item
/// that is a filled map or list has none.
#[derive(Clone, Debug)]
pub struct ConfigNode {
    /// The key; empty for an item of a list and for the whole file.
    pub(super) key: String,
    pub(super) value: NodeValue,
    /// The statement of the node, which covers what is inside when it is left out or not needed.
    pub source: SourcePlace,
    accounts: WordAccounts,
    /// The statement's index while the tree is built.
    pub(super) statement: usize,
    /// The number of nodes in it, itself included.
    pub(super) size: usize,
    /// The number of levels in it: 1 for a scalar.
    pub(super) height: usize,
    /// The node in short, for messages.
    text: Rc<str>,
}

impl ConfigNode {
    pub(super) fn new(key: String, value: NodeValue, statement: usize) -> ConfigNode {
        let inner = value.children();
        let size = 1 + inner.iter().map(|node| node.size).sum::<usize>();
        let height = 1 + inner.iter().map(|node| node.height).max().unwrap_or(0);
        ConfigNode {
            key,
            value,
            source: SourcePlace::NONE,
            accounts: WordAccounts::default(),
            statement,
            size,
            height,
            text: Rc::default(),
        }
    }

    /// Gives the node and everything in it the sources of their statements.
    pub(super) fn resolve(&mut self, entered: &[EnteredStatement], ledger_text: &[Rc<str>]) {
        if let Some(entered) = entered.get(self.statement) {
            self.source = entered.source;
            self.accounts = entered.accounts.clone();
        }
        if let Some(text) = ledger_text.get(self.statement) {
            self.text.clone_from(text);
        }
        if let NodeValue::List(inner) | NodeValue::Map(inner) = &mut self.value {
            inner.iter_mut().for_each(|node| node.resolve(entered, ledger_text));
        }
    }

    /// The key, without marking it as read. Empty for an item of a list.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The node in short, for messages: `key: value`, `key:`, `- item`.
    pub fn describe(&self) -> &str {
        &self.text
    }

    /// The entry of this key, marked as read. A key of a filled block then counts as converted, because the block's
    /// outcome is that of its words.
    pub fn get(&self, key: &str) -> Option<&ConfigNode> {
        let found = self.value.entries().iter().find(|node| node.key == key)?;
        found.mark_key();
        Some(found)
    }

    /// Whether the map has this key. Marks nothing.
    pub fn has(&self, key: &str) -> bool {
        self.value.entries().iter().any(|node| node.key == key)
    }

    /// All entries of a map, with their keys marked as read. Empty if the value is no map.
    pub fn entries(&self) -> &[ConfigNode] {
        self.value.entries().iter().for_each(ConfigNode::mark_key);
        self.value.entries()
    }

    /// All items of a list. Empty if the value is no list.
    pub fn items(&self) -> &[ConfigNode] {
        match &self.value {
            NodeValue::List(items) => items,
            _ => &[],
        }
    }

    /// The scalar's text, marked as read with its key. `None` if the value is no scalar.
    pub fn text(&self) -> Option<&str> {
        let NodeValue::Scalar(scalar) = &self.value else { return None };
        self.accounts.mark_read_from(0);
        Some(&scalar.text)
    }

    /// The text of the scalar of this key, marked as read.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(ConfigNode::text)
    }

    /// The value. Marks nothing.
    pub fn value(&self) -> &NodeValue {
        &self.value
    }

    /// Whether the value is nothing, an empty list or an empty map. Such a key has to be settled by its reader.
    pub fn is_empty(&self) -> bool {
        match &self.value {
            NodeValue::Null => true,
            NodeValue::Scalar(_) => false,
            NodeValue::List(inner) | NodeValue::Map(inner) => inner.is_empty(),
        }
    }

    /// Whether the key was read, or the item's scalar.
    pub fn is_read(&self) -> bool {
        self.accounts.is_read_from(0)
    }

    /// The entries of a map that nobody has read yet.
    pub fn unread_entries(&self) -> impl Iterator<Item = &ConfigNode> {
        self.value.entries().iter().filter(|entry| !entry.is_read())
    }

    /// Marks the key and a scalar as read.
    pub fn mark_read(&self) {
        self.accounts.mark_read_from(0);
    }

    fn mark_key(&self) {
        self.accounts.mark_read(0);
        if !self.key.is_empty() && !self.is_empty() && !matches!(self.value, NodeValue::Scalar(_)) {
            self.accounts.settle(SourceWords::Range(0, 1), NoteKind::Converted);
        }
    }

    fn is_any_read(&self) -> bool {
        self.accounts.is_read_from(0) || self.value.children().iter().any(ConfigNode::is_any_read)
    }
}

impl NodeValue {
    fn entries(&self) -> &[ConfigNode] {
        match self {
            NodeValue::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn children(&self) -> &[ConfigNode] {
        match self {
            NodeValue::List(inner) | NodeValue::Map(inner) => inner,
            _ => &[],
        }
    }
}

/// Reports everything below a node that nobody read, except in blocks that were left out or are not needed.
pub fn note_unread(node: &ConfigNode, notes: &mut ConversionNotes) {
    if notes.ledger.covers_block(node.source) {
        return;
    }
    for inner in node.value.children() {
        let scalar = matches!(inner.value, NodeValue::Scalar(_));
        let last = usize::from(scalar && !inner.key.is_empty());
        let filled_item = inner.key.is_empty() && !scalar && !inner.is_empty();
        let unread =
            if filled_item { !inner.is_any_read() } else { !inner.accounts.is_read_from(last) };
        if !unread {
            note_unread(inner, notes);
        } else if !notes.ledger.covers_block(inner.source) {
            let reason = "the converter does not know it";
            notes.left_out(inner.source.whole(), &inner.text, reason, "");
        }
    }
}
