//! The report of a conversion: what was left out, what changed its meaning, and what is not needed.
//!
//! The list is bounded: notes beyond `LISTED` are only counted. This module makes no decisions.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use serde::Serialize;

use crate::document::Document;
use crate::ledger::Ledger;
pub use crate::note_kind::NoteKind;
use crate::shorten::shorten;
use crate::source::SourcePlace;

/// The most notes in the list, several times the statements that a file may have. Further notes are only counted.
pub const LISTED: usize = 400_000;
/// The reason in the note about a converted statement.
const SAME: &str = "it means the same here";
/// Bytes of written text for one statement, after which no further entry is added.
const AFTER: usize = 240;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConversionNote {
    /// The directive's outcome.
    pub kind: NoteKind,
    /// The name of the source file.
    pub file: String,
    /// The line from 1; 0 means the whole file.
    pub line: u32,
    /// The directive, shortened and without control characters.
    pub directive: String,
    /// The output for the directive: `path.key = value`, several joined with "; ". Empty if there is none.
    pub after: String,
    /// The reason and its consequence.
    pub reason: String,
    /// The replacement; empty if nothing needs to be done.
    pub instead: String,
    #[serde(skip)]
    source: SourcePlace,
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

/// The parts of a note by which duplicates are known.
#[derive(Hash)]
struct NoteIdentity<'n> {
    kind: NoteKind,
    /// The line from 1; 0 means the whole file or no line.
    line: u32,
    directive: &'n str,
    reason: &'n str,
}

/// The notes of one conversion without duplicates, and the account of its words.
#[derive(Debug, Default)]
pub struct ConversionNotes {
    file: String,
    list: Vec<ConversionNote>,
    /// Digests of the notes so far, with a key of this conversion. Texts would cost more memory than the notes.
    seen: HashSet<u64>,
    digest_key: RandomState,
    unlisted: u64,
    left_out: u64,
    unreadable: bool,
    pub ledger: Ledger,
}

/// All notes in the order of their lines.
#[derive(Debug, Default)]
pub struct FinishedNotes {
    pub list: Vec<ConversionNote>,
    /// The number of directives left out, listed or not.
    pub left_out: u64,
    /// The number of notes that are not listed.
    pub unlisted: u64,
}

impl ConversionNotes {
    /// Starts the notes of a file with this name.
    pub fn new(file: &str) -> ConversionNotes {
        ConversionNotes { file: file.to_owned(), ..ConversionNotes::default() }
    }

    /// Reports a directive that is not carried over.
    pub fn left_out(&mut self, source: SourcePlace, directive: &str, reason: &str, instead: &str) {
        self.add(NoteKind::LeftOut, source, directive, reason, instead);
    }

    /// Reports that the file is damaged or incomplete. No output is written for such a file.
    pub fn unreadable(
        &mut self,
        source: SourcePlace,
        directive: &str,
        reason: &str,
        instead: &str,
    ) {
        self.unreadable = true;
        self.left_out(source, directive, reason, instead);
    }

    /// Whether the file is unreadable, so that no output may be written.
    pub fn is_unreadable(&self) -> bool {
        self.unreadable
    }

    /// As `left_out`, with a reason from another function.
    pub fn left_out_because(
        &mut self,
        source: SourcePlace,
        directive: &str,
        why: &UnsupportedReason,
    ) {
        self.left_out(source, directive, &why.reason, &why.instead);
    }

    /// Reports a directive that has another meaning in the output.
    pub fn changed(&mut self, source: SourcePlace, directive: &str, reason: &str, instead: &str) {
        self.add(NoteKind::Changed, source, directive, reason, instead);
    }

    /// Reports a directive that the output does not need.
    pub fn not_needed(&mut self, source: SourcePlace, directive: &str, reason: &str) {
        self.add(NoteKind::NotNeeded, source, directive, reason, "");
    }

    /// Settles words that are part of an output entry with another source.
    pub fn converted(&mut self, source: SourcePlace) {
        self.ledger.settle(source, NoteKind::Converted);
    }

    fn add(
        &mut self,
        kind: NoteKind,
        source: SourcePlace,
        directive: &str,
        reason: &str,
        instead: &str,
    ) -> Option<&mut ConversionNote> {
        self.ledger.settle(source, kind);
        let line = source.line();
        let directive = shorten(directive);
        // A line that several objects inherit gets one note for each reason.
        let identity = NoteIdentity { kind, line, directive: &directive, reason };
        let digest = self.digest_key.hash_one(identity);
        if self.list.len() < LISTED && !self.seen.insert(digest) {
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

    /// Settles the sources of a document's entries.
    pub fn settle_written(&mut self, document: &Document) {
        document.visit_entries(|source, _| self.ledger.settle(source, NoteKind::Converted));
    }

    /// Settles the sources of the output, reports unsettled words, and adds to each note the output of its statement.
    /// Returns the number of words that were read and not settled.
    pub fn close_account(&mut self, document: &Document) -> u64 {
        self.settle_written(document);
        // Only for what can be listed, since a large file has many more statements.
        let converted = self.ledger.converted().take(LISTED);
        let listed = self.list.iter().map(|note| note.source).chain(converted);
        let listed = listed.filter_map(SourcePlace::statement);
        let mut written: HashMap<usize, String> = listed.map(|at| (at, String::new())).collect();
        document.visit_entries(|source, write| {
            let Some(text) = source.statement().and_then(|at| written.get_mut(&at)) else { return };
            if text.len() < AFTER {
                let joint = if text.is_empty() { "" } else { "; " };
                text.push_str(&format!("{joint}{}", write()));
            }
        });
        let after = |source: SourcePlace| {
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
        let converted: Vec<SourcePlace> = self.ledger.converted().collect();
        for (at, source) in converted.iter().enumerate() {
            if self.list.len() >= LISTED {
                self.unlisted += (converted.len() - at) as u64;
                break;
            }
            let directive = self.ledger.text(*source).to_owned();
            if let Some(note) = self.add(NoteKind::Converted, *source, &directive, SAME, "") {
                note.after = shorten(after(*source));
            }
        }
        words
    }

    /// All notes, in line order.
    pub fn finish(mut self) -> FinishedNotes {
        self.list.sort_by_key(|note| (note.line, note.kind));
        FinishedNotes { list: self.list, left_out: self.left_out, unlisted: self.unlisted }
    }
}
