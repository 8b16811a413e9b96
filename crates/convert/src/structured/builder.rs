//! Builds a tree from the events of a reader, within limits, and enters its words into the ledger.

use std::collections::HashSet;
use std::rc::Rc;

use crate::notes::ConversionNotes;
use crate::shorten::shorten;
use crate::source::SourcePlace;
use crate::structured::node::{ConfigNode, NodeValue, ScalarNotation, ScalarValue};

/// The limit of nodes, copies by aliases included.
pub const NODES: usize = 200_000;
/// The limit of levels. Bounds the recursion on hostile input.
pub const DEPTH: usize = 64;

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeError {
    pub line: u32,
    pub text: String,
    pub reason: String,
}

impl TreeError {
    pub fn new(line: u32, text: &str, reason: &str) -> TreeError {
        TreeError { line, text: shorten(text), reason: reason.to_owned() }
    }

    /// Reports the error, so that nothing is written of the file.
    pub fn report(&self, notes: &mut ConversionNotes) {
        let source = SourcePlace::at_line(self.line);
        notes.unreadable(
            source,
            &self.text,
            &self.reason,
            "correct the file, and convert it again",
        );
    }
}

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerKind {
    List,
    Map,
}

/// A statement before it is entered into the ledger.
struct PendingStatement {
    line: u32,
    text: String,
    words: usize,
    /// The index of the enclosing block's statement.
    parent: Option<usize>,
    /// The word has an outcome by itself.
    settled: bool,
}

/// The statement that waits for its value.
struct NodeSlot {
    key: String,
    statement: usize,
}

/// A block that is not yet closed.
struct OpenContainer {
    kind: ContainerKind,
    slot: NodeSlot,
    inner: Vec<ConfigNode>,
    keys: HashSet<String>,
}

/// A tree that is being built.
pub struct TreeBuilder {
    statements: Vec<PendingStatement>,
    open: Vec<OpenContainer>,
    slot: Option<NodeSlot>,
    root: Option<ConfigNode>,
    nodes: usize,
    /// The name of a key as its dialect knows it.
    rename: fn(&str) -> String,
    /// `<<` puts the entries of other maps into a map.
    merges: bool,
}

impl TreeBuilder {
    pub fn new(rename: fn(&str) -> String, merges: bool) -> TreeBuilder {
        TreeBuilder {
            statements: Vec::new(),
            open: Vec::new(),
            slot: None,
            root: None,
            nodes: 0,
            rename,
            merges,
        }
    }

    /// Whether the next scalar is a key.
    pub fn expects_key(&self) -> bool {
        let in_map = self.open.last().is_some_and(|open| open.kind == ContainerKind::Map);
        in_map && self.slot.is_none()
    }

    /// Starts an entry of the open map.
    pub fn start_entry(&mut self, key: &str, line: u32) -> Result<(), TreeError> {
        let name = (self.rename)(key);
        if let Some(open) = self.open.last_mut()
            && !open.keys.insert(name.clone())
        {
            return Err(TreeError::new(line, key, "the key is here twice"));
        }
        let statement = self.push_statement(line, format!("{key}:"));
        self.slot = Some(NodeSlot { key: name, statement });
        Ok(())
    }

    fn push_statement(&mut self, line: u32, text: String) -> usize {
        let parent = self.open.last().map(|open| open.slot.statement);
        let text = shorten(&text);
        self.statements.push(PendingStatement { line, text, words: 1, parent, settled: false });
        self.statements.len() - 1
    }

    /// The slot for a value on this line: that of its key, or a new one of a list or of the whole file.
    fn take_slot(&mut self, line: u32) -> NodeSlot {
        match self.slot.take() {
            Some(slot) => slot,
            None => NodeSlot {
                key: String::new(),
                statement: self.push_statement(line, "-".to_owned()),
            },
        }
    }

    pub fn add_scalar(
        &mut self,
        text: &str,
        notation: ScalarNotation,
        line: u32,
    ) -> Result<(), TreeError> {
        let slot = self.take_slot(line);
        let value = ScalarValue { text: text.to_owned(), notation };
        self.attach(slot, NodeValue::Scalar(value), line)
    }

    pub fn add_null(&mut self, line: u32) -> Result<(), TreeError> {
        let slot = self.take_slot(line);
        self.attach(slot, NodeValue::Null, line)
    }

    /// Adds a copy of another node's value, which shares the words inside it.
    pub fn add_copy(&mut self, node: &ConfigNode, line: u32) -> Result<(), TreeError> {
        self.count(node.size, line)?;
        if self.open.len() + node.height > DEPTH {
            return Err(TreeError::new(line, "", "blocks nest too deep"));
        }
        let slot = self.take_slot(line);
        self.attach(slot, node.value.clone(), line)
    }

    pub fn open(&mut self, kind: ContainerKind, line: u32) -> Result<(), TreeError> {
        if self.open.len() >= DEPTH {
            return Err(TreeError::new(line, "", "blocks nest too deep"));
        }
        let slot = self.take_slot(line);
        self.open.push(OpenContainer { kind, slot, inner: Vec::new(), keys: HashSet::new() });
        Ok(())
    }

    /// Closes the innermost block.
    pub fn close(&mut self, line: u32) -> Result<(), TreeError> {
        let Some(mut done) = self.open.pop() else {
            return Err(TreeError::new(line, "", "something is closed that is not open"));
        };
        if self.merges && done.kind == ContainerKind::Map {
            self.merge(&mut done, line)?;
        }
        // Most blocks have one or two entries, and a file may have a hundred thousand blocks.
        done.inner.shrink_to_fit();
        let value = match done.kind {
            ContainerKind::List => NodeValue::List(done.inner),
            ContainerKind::Map => NodeValue::Map(done.inner),
        };
        self.attach(done.slot, value, line)
    }

    /// Puts the entries of the maps behind `<<` into the map, where the map does not have them itself.
    fn merge(&mut self, map: &mut OpenContainer, line: u32) -> Result<(), TreeError> {
        let Some(at) = map.inner.iter().position(|node| node.key == "<<") else { return Ok(()) };
        let merged = map.inner.remove(at);
        let maps = match &merged.value {
            NodeValue::Map(_) => std::slice::from_ref(&merged),
            NodeValue::List(items) => &items[..],
            _ => return Err(TreeError::new(line, "<<", "no map stands behind it")),
        };
        if let Some(statement) = self.statements.get_mut(merged.statement) {
            statement.settled = true;
        }
        for entry in maps.iter().flat_map(|one| one.value.children()) {
            if map.keys.insert(entry.key.clone()) {
                self.count(entry.size, line)?;
                map.inner.push(entry.clone());
            }
        }
        Ok(())
    }

    fn count(&mut self, nodes: usize, line: u32) -> Result<(), TreeError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > NODES {
            let reason = format!("the file has more than {NODES} entries, copies included");
            return Err(TreeError::new(line, "", &reason));
        }
        Ok(())
    }

    /// Puts a node into the open block.
    fn attach(&mut self, slot: NodeSlot, value: NodeValue, line: u32) -> Result<(), TreeError> {
        self.count(1, line)?;
        let first = value.children().first().map(|node| node.statement);
        let first = first.and_then(|at| self.statements.get(at)).map(|one| one.text.clone());
        let is_root = self.open.is_empty();
        if let Some(statement) = self.statements.get_mut(slot.statement) {
            match (&value, slot.key.is_empty(), first) {
                (NodeValue::Scalar(scalar), is_item, _) => {
                    statement.words = 1 + usize::from(!is_item);
                    statement.text = shorten(&format!("{} {}", statement.text, scalar.text));
                }
                (_, true, Some(first)) => {
                    statement.words = 0;
                    statement.text = shorten(&format!("- {first}"));
                }
                _ if is_root => statement.words = 0,
                _ => {}
            }
        }
        let node = ConfigNode::new(slot.key, value, slot.statement);
        match self.open.last_mut() {
            Some(open) => open.inner.push(node),
            None => self.root = Some(node),
        }
        Ok(())
    }

    /// The last node that was completed. `None` while a key waits for its value.
    pub fn last_node(&self) -> Option<&ConfigNode> {
        match self.open.last() {
            Some(open) => open.inner.last(),
            None => self.root.as_ref(),
        }
    }

    /// Enters all statements into the ledger. `None` if there was nothing in the file.
    pub fn finish(self, notes: &mut ConversionNotes) -> Option<ConfigNode> {
        let mut root = self.root?;
        let base = notes.ledger.len();
        let mut entered = Vec::with_capacity(self.statements.len());
        let mut texts = Vec::with_capacity(self.statements.len());
        for (at, statement) in self.statements.into_iter().enumerate() {
            let one = notes.ledger.enter(statement.line, &statement.text, statement.words);
            let parent = statement.parent.and_then(|parent| entered.get(parent));
            if let Some(parent) =
                parent.map(|parent: &crate::ledger::EnteredStatement| parent.source)
            {
                notes.ledger.adopt(base + at, base + at + 1, parent);
            }
            if statement.settled {
                one.accounts.mark_read_from(0);
                notes.converted(one.source);
            }
            entered.push(one);
            texts.push(Rc::from(statement.text));
        }
        root.resolve(&entered, &texts);
        Some(root)
    }
}
