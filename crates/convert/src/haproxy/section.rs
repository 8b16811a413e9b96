//! Sections of the file, with the lines that they inherit from `defaults`.

use std::collections::HashMap;
use std::rc::Rc;

use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

use super::lex::{ConfigLine, lines};
use super::side_keywords;

/// The kind of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionKind {
    Global,
    Frontend,
    Backend,
    Listen,
    /// A named set of error files.
    HttpErrors,
    Resolvers,
    CertificateStore,
    /// A section that nothing is written of.
    Side,
}

/// Directives that decide who gets in, what servers and clients see, and where requests go.
const DECIDING: [&str; 18] = [
    "http-request",
    "http-response",
    "http-after-response",
    "tcp-request",
    "tcp-response",
    "redirect",
    "block",
    "use_backend",
    "default_backend",
    "use-server",
    "disabled",
    "mode",
    "monitor-uri",
    "stats",
    "filter",
    "http-send-name-header",
    "default-server",
    "dispatch",
];

#[derive(Clone, Debug)]
pub struct HaproxySection {
    pub kind: SectionKind,
    /// The line that begins the section.
    pub header: ConfigLine,
    /// The text of that line.
    pub text: String,
    pub name: String,
    pub source: SourcePlace,
    /// The lines that the section inherits.
    pub defaults: Rc<Vec<ConfigLine>>,
    pub lines: Vec<ConfigLine>,
}

/// All sections except `defaults`. The lines of `defaults` are in the sections that inherit them.
pub fn sections(text: &str, notes: &mut ConversionNotes) -> Vec<HaproxySection> {
    let mut reader = SectionReader::default();
    let mut skipped: Option<(SourcePlace, u32)> = None;
    let mut skips_section = false;
    for line in lines(text, &mut notes.ledger) {
        let word = line.word(0).to_owned();
        if word.starts_with('.') {
            notes.ledger.settle(line.source.whole(), NoteKind::LeftOut);
            let depth = skipped.map_or(0, |(_, depth)| depth);
            match word.as_str() {
                ".if" => {
                    skips_section &= skipped.is_some();
                    skipped = Some((skipped.map_or(line.source, |(first, _)| first), depth + 1));
                }
                ".endif" if depth > 1 => skipped = skipped.map(|(first, depth)| (first, depth - 1)),
                ".endif" => skipped = None,
                _ => {}
            }
            if word == ".if" {
                let reason = "what stands between `.if` and `.endif` depends on where HAProxy runs";
                notes.left_out(
                    line.source,
                    &line.text(),
                    reason,
                    "write what holds on this machine without `.if`",
                );
            }
            continue;
        }
        if skipped.is_some() {
            notes.ledger.settle(line.source.whole(), NoteKind::LeftOut);
            skips_section |= section_kind(&word).is_some();
            let is_own = !skips_section && !reader.accounts_for_lines();
            if DECIDING.contains(&word.as_str()) && is_own {
                let reason = "what it decides depends on where HAProxy runs; so that nothing is open that was closed, its section refuses everybody";
                notes.left_out(line.source, &line.text(), reason, "write it without `.if`");
                reader.line(line.refusal(), notes);
            }
            continue;
        }
        if line.unclosed_quote || line.has_variable || line.has_bad_escape {
            let reason = if line.unclosed_quote {
                "a quote is not closed"
            } else if line.has_bad_escape {
                "a `\\x` stands for no sign that can be carried over"
            } else {
                "it holds an environment variable"
            };
            notes.unreadable(line.source, &line.text(), reason, "write the value itself");
            continue;
        }
        reader.line(line, notes);
    }
    reader.finish(notes)
}

/// The word that begins a section.
struct SectionWord {
    /// `None`: `defaults`.
    kind: Option<SectionKind>,
}

fn section_kind(word: &str) -> Option<SectionWord> {
    let kind = match word {
        "global" => Some(SectionKind::Global),
        "frontend" => Some(SectionKind::Frontend),
        "backend" => Some(SectionKind::Backend),
        "listen" => Some(SectionKind::Listen),
        "http-errors" => Some(SectionKind::HttpErrors),
        "defaults" => None,
        "resolvers" => Some(SectionKind::Resolvers),
        "crt-store" => Some(SectionKind::CertificateStore),
        other if side_keywords::KEYWORDS.contains(&other) => Some(SectionKind::Side),
        _ => return None,
    };
    Some(SectionWord { kind })
}

/// A `defaults` section, with the lines that it inherits first.
struct DefaultsSection {
    /// Empty for a section without a name.
    name: String,
    lines: Vec<ConfigLine>,
}

#[derive(Default)]
struct SectionReader {
    done: Vec<HaproxySection>,
    current: Option<HaproxySection>,
    in_defaults: Option<DefaultsSection>,
    defaults: Rc<Vec<ConfigLine>>,
    named: HashMap<String, Rc<Vec<ConfigLine>>>,
    /// The line that begins the current section.
    header: Option<SourcePlace>,
}

impl HaproxySection {
    /// Reports the section and its lines, because a later section has its name.
    pub fn note_replaced(&self, notes: &mut ConversionNotes) {
        let reason = "a later section has the same name, and takes its place";
        notes.left_out(self.source.whole(), &self.text, reason, "one section of each name");
        for line in &self.lines {
            notes.left_out(line.source.whole(), &line.text(), reason, "one section of each name");
        }
    }
}

impl SectionReader {
    fn line(&mut self, line: ConfigLine, notes: &mut ConversionNotes) {
        let word = line.word(0);
        let Some(SectionWord { kind }) = section_kind(word) else {
            return self.inner(line, notes);
        };
        self.close(line.source.statement().unwrap_or_default(), notes);
        self.header = Some(line.source);
        if matches!(word, "global" | "defaults") {
            line.mark_converted();
        }
        let from = line.rest(0).iter().position(|word| word == "from").map(|at| line.word(at + 1));
        let inherited = from.and_then(|from| self.named.get(from)).cloned();
        let name =
            if from == Some(line.word(2)) && line.word(1) == "from" { "" } else { line.word(1) };
        match kind {
            None => {
                let lines = inherited.map(|lines| lines.to_vec()).unwrap_or_default();
                self.in_defaults = Some(DefaultsSection { name: name.to_owned(), lines });
            }
            Some(kind) => {
                self.current = Some(HaproxySection {
                    kind,
                    text: line.text(),
                    name: name.to_owned(),
                    source: line.source,
                    header: line,
                    defaults: inherited.unwrap_or_else(|| self.defaults.clone()),
                    lines: Vec::new(),
                });
            }
        }
    }

    fn inner(&mut self, line: ConfigLine, notes: &mut ConversionNotes) {
        if let Some(defaults) = &mut self.in_defaults {
            defaults.lines.push(line);
        } else if let Some(section) = &mut self.current {
            section.lines.push(line);
        } else {
            notes.left_out(line.source, &line.text(), "it stands before the first section", "");
        }
    }

    /// Whether each line of the current section needs an outcome of its own, even if the section is left out.
    fn accounts_for_lines(&self) -> bool {
        let proxies = [SectionKind::Frontend, SectionKind::Backend, SectionKind::Listen];
        self.current.as_ref().is_some_and(|section| !proxies.contains(&section.kind))
    }

    /// Ends the current section before the statement at this place.
    fn close(&mut self, end: usize, notes: &mut ConversionNotes) {
        if let Some(header) = self.header.take().filter(|_| !self.accounts_for_lines()) {
            notes.ledger.adopt(header.statement().map_or(end, |at| at + 1), end, header);
        }
        self.done.extend(self.current.take());
        if let Some(DefaultsSection { name, lines }) = self.in_defaults.take() {
            self.defaults = Rc::new(lines);
            if !name.is_empty() {
                self.named.insert(name, self.defaults.clone());
            }
        }
    }

    fn finish(mut self, notes: &mut ConversionNotes) -> Vec<HaproxySection> {
        self.close(notes.ledger.len(), notes);
        self.done
    }
}
