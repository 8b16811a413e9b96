//! Notes about a conversion: left-out, changed and unneeded settings.
//!
//! The list is bounded: notes beyond `LISTED` are only counted. This module makes no decisions.

use std::collections::HashSet;

use serde::Serialize;

/// The limit of listed notes. Further notes are counted.
pub const LISTED: usize = 1_000;
/// Characters of a directive that a note shows.
const SHOWN: usize = 120;

/// The kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// It is not in the configuration that was written.
    LeftOut,
    /// It is, and does not mean quite the same.
    Changed,
    /// The setting is not needed.
    NotNeeded,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConversionNote {
    /// The kind of the note.
    pub kind: NoteKind,
    /// The name of the source file.
    pub file: String,
    /// From 1; 0: the whole file.
    pub line: u32,
    /// The directive, shortened and without control characters.
    pub directive: String,
    /// The reason of the note.
    pub reason: String,
    /// The replacement; empty if nothing needs to be done.
    pub instead: String,
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

/// Notes of one conversion, each once.
#[derive(Debug, Default)]
pub struct ConversionNotes {
    file: String,
    list: Vec<ConversionNote>,
    seen: HashSet<(NoteKind, u32, String, String)>,
    unlisted: u64,
    left_out: u64,
    unreadable: bool,
}

impl ConversionNotes {
    /// Of a file of this name.
    pub fn new(file: &str) -> ConversionNotes {
        ConversionNotes { file: file.to_owned(), ..ConversionNotes::default() }
    }

    /// It is not carried over.
    pub fn left_out(&mut self, line: u32, directive: &str, reason: &str, instead: &str) {
        self.add(NoteKind::LeftOut, line, directive, reason, instead);
    }

    /// The file is damaged or incomplete at this line, so nothing is written.
    pub fn unreadable(&mut self, line: u32, directive: &str, reason: &str, instead: &str) {
        self.unreadable = true;
        self.left_out(line, directive, reason, instead);
    }

    /// Whether the file is unreadable, so that nothing may be written.
    pub fn is_unreadable(&self) -> bool {
        self.unreadable
    }

    /// As `left_out`, for a reason that was made elsewhere.
    pub fn left_out_because(&mut self, line: u32, directive: &str, why: &UnsupportedReason) {
        self.left_out(line, directive, &why.reason, &why.instead);
    }

    /// It means something else.
    pub fn changed(&mut self, line: u32, directive: &str, reason: &str, instead: &str) {
        self.add(NoteKind::Changed, line, directive, reason, instead);
    }

    /// Adds a note that a setting is not needed.
    pub fn not_needed(&mut self, line: u32, directive: &str, reason: &str) {
        self.add(NoteKind::NotNeeded, line, directive, reason, "");
    }

    fn add(&mut self, kind: NoteKind, line: u32, directive: &str, reason: &str, instead: &str) {
        let directive = shorten(directive);
        // A line that several objects inherit is noted once for each reason.
        if self.list.len() < LISTED
            && !self.seen.insert((kind, line, directive.clone(), reason.to_owned()))
        {
            return;
        }
        if kind == NoteKind::LeftOut {
            self.left_out += 1;
        }
        if self.list.len() >= LISTED {
            self.unlisted += 1;
            return;
        }
        self.list.push(ConversionNote {
            kind,
            file: self.file.clone(),
            line,
            directive,
            reason: reason.to_owned(),
            instead: instead.to_owned(),
        });
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    /// All in the order of their lines; how many were left out; how many are not listed.
    pub fn finish(mut self) -> (Vec<ConversionNote>, u64, u64) {
        self.list.sort_by_key(|note| (note.line, note.kind));
        (self.list, self.left_out, self.unlisted)
    }
}

/// Short enough and harmless enough for a message or a comment.
pub fn shorten(text: &str) -> String {
    let words: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() { format!("{words}…") } else { words }
}
