//! What is reported of a conversion: what was left out, what means something else now, what is not needed.
//!
//! The list is bounded: notes beyond `LISTED` are only counted. This module makes no decisions.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::document::Document;
use crate::ledger::Ledger;
use crate::source::Source;

/// Notes listed at most, several times the statements that a file may have; further ones are counted.
pub const LISTED: usize = 400_000;
/// Why nothing more is to be said of what was carried over.
const SAME: &str = "it means the same here";
/// Bytes of what was written of one statement, from which on no more is listed.
const AFTER: usize = 240;
/// Characters of a directive that a note shows.
const SHOWN: usize = 120;

/// What became of something, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// It is not in the configuration that was written.
    LeftOut,
    /// It is, and does not mean quite the same.
    Changed,
    /// It is, and means the same.
    Converted,
    /// Nothing is missing without it.
    NotNeeded,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConversionNote {
    /// What became of it.
    pub kind: NoteKind,
    /// The name of the source file.
    pub file: String,
    /// From 1; 0: the whole file.
    pub line: u32,
    /// The directive, shortened and without control characters.
    pub directive: String,
    /// What was written of it: `path.key = value`, several joined with "; ". Empty where nothing was.
    pub after: String,
    /// Why, and what follows from it.
    pub reason: String,
    /// The replacement; empty if nothing needs to be done.
    pub instead: String,
    #[serde(skip)]
    source: Source,
}

/// The reason why a setting cannot be converted, and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedReason {
    pub reason: String,
    pub instead: String,
}

impl UnsupportedReason {
    pub fn new(reason: impl Into<String>, instead: impl Into<String>) -> UnsupportedReason {
        UnsupportedReason { reason: reason.into(), instead: instead.into() }
    }
}

/// Notes of one conversion, each once, and the account of its words.
#[derive(Debug, Default)]
pub struct ConversionNotes {
    file: String,
    list: Vec<ConversionNote>,
    seen: HashSet<(NoteKind, u32, String, String)>,
    unlisted: u64,
    left_out: u64,
    unreadable: bool,
    pub ledger: Ledger,
}

/// All notes in the order of their lines.
#[derive(Debug, Default)]
pub struct FinishedNotes {
    pub list: Vec<ConversionNote>,
    /// How many were left out, listed or not.
    pub left_out: u64,
    /// How many are not listed.
    pub unlisted: u64,
}

impl ConversionNotes {
    /// Of a file of this name.
    pub fn new(file: &str) -> ConversionNotes {
        ConversionNotes { file: file.to_owned(), ..ConversionNotes::default() }
    }

    /// It is not carried over.
    pub fn left_out(&mut self, source: Source, directive: &str, reason: &str, instead: &str) {
        self.add(NoteKind::LeftOut, source, directive, reason, instead);
    }

    /// The file is damaged or not finished there: nothing is written of it.
    pub fn unreadable(&mut self, source: Source, directive: &str, reason: &str, instead: &str) {
        self.unreadable = true;
        self.left_out(source, directive, reason, instead);
    }

    /// Whether the file is unreadable, so that nothing may be written.
    pub fn is_unreadable(&self) -> bool {
        self.unreadable
    }

    /// As `left_out`, for a reason that was made elsewhere.
    pub fn left_out_because(&mut self, source: Source, directive: &str, why: &UnsupportedReason) {
        self.left_out(source, directive, &why.reason, &why.instead);
    }

    /// It means something else.
    pub fn changed(&mut self, source: Source, directive: &str, reason: &str, instead: &str) {
        self.add(NoteKind::Changed, source, directive, reason, instead);
    }

    /// Nothing is missing without it.
    pub fn not_needed(&mut self, source: Source, directive: &str, reason: &str) {
        self.add(NoteKind::NotNeeded, source, directive, reason, "");
    }

    /// It is in what is written, as a part of something that has another source.
    pub fn converted(&mut self, source: Source) {
        self.ledger.settle(source, NoteKind::Converted);
    }

    fn add(
        &mut self,
        kind: NoteKind,
        source: Source,
        directive: &str,
        reason: &str,
        instead: &str,
    ) -> Option<&mut ConversionNote> {
        self.ledger.settle(source, kind);
        let line = source.line();
        let directive = shorten(directive);
        // A line that several objects inherit is noted once for each reason.
        if self.list.len() < LISTED
            && !self.seen.insert((kind, line, directive.clone(), reason.to_owned()))
        {
            return None;
        }
        if kind == NoteKind::LeftOut {
            self.left_out += 1;
        }
        if self.list.len() >= LISTED {
            self.unlisted += 1;
            return None;
        }
        self.list.push(ConversionNote {
            kind,
            file: self.file.clone(),
            line,
            directive,
            after: String::new(),
            reason: reason.to_owned(),
            instead: instead.to_owned(),
            source,
        });
        self.list.last_mut()
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    /// Settles what stands in a document.
    pub fn settle_written(&mut self, document: &Document) {
        for entry in document.written_entries() {
            self.ledger.settle(entry.source, NoteKind::Converted);
        }
    }

    /// Settles what stands in the document that was written, reports what nobody settled, and gives each note what was
    /// written of its statement. Returns how many words nobody had settled.
    pub fn close_account(&mut self, document: &Document) -> u64 {
        self.settle_written(document);
        let mut written: HashMap<usize, String> = HashMap::new();
        for entry in document.written_entries() {
            if let Some(statement) = entry.source.statement() {
                let text = written.entry(statement).or_default();
                if text.len() < AFTER {
                    let joint = if text.is_empty() { "" } else { "; " };
                    text.push_str(&format!("{joint}{}", entry.text));
                }
            }
        }
        let after = |source: Source| {
            source.statement().and_then(|at| written.get(&at)).map_or("", String::as_str)
        };
        for note in &mut self.list {
            note.after = shorten(after(note.source));
        }
        let mut words = 0;
        for left in self.ledger.unsettled() {
            if left.is_unknown_rest {
                let reason = "nothing is known of the words behind it";
                self.left_out(left.source, &left.text, reason, "");
                continue;
            }
            words += left.words as u64;
            let reason = "the converter made nothing of it, or not of all of it";
            self.left_out(left.source, &left.text, reason, "");
        }
        for source in self.ledger.converted().collect::<Vec<_>>() {
            let directive = self.ledger.text(source).to_owned();
            if let Some(note) = self.add(NoteKind::Converted, source, &directive, SAME, "") {
                note.after = shorten(after(source));
            }
        }
        words
    }

    /// All in the order of their lines.
    pub fn finish(mut self) -> FinishedNotes {
        self.list.sort_by_key(|note| (note.line, note.kind));
        FinishedNotes { list: self.list, left_out: self.left_out, unlisted: self.unlisted }
    }
}

/// Short enough and harmless enough for a message or a comment.
pub fn shorten(text: &str) -> String {
    let words: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() { format!("{words}…") } else { words }
}
