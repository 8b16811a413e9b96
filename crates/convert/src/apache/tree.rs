//! Sections and directives. Sections that only ask whether a module is there are taken.

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;

use super::lines::{SourceLine, split_words};

/// Deeper than any file: bounds the recursion on hostile input.
const DEEP: usize = 24;

/// Parses the directives of a file. A section that is not closed makes the file unreadable.
pub fn parse(lines: Vec<SourceLine>, notes: &mut ConversionNotes) -> Vec<ConfigStatement> {
    let defined = lines.iter().filter_map(|line| {
        let words = split_words(&line.text)?;
        let defines = words.first()?.eq_ignore_ascii_case("define");
        words.into_iter().nth(1).filter(|_| defines)
    });
    let defined = defined.collect();
    let mut parser = HttpdParser { lines, at: 0, defined };
    parser.section("", 0, notes)
}

struct HttpdParser {
    lines: Vec<SourceLine>,
    at: usize,
    defined: Vec<String>,
}

impl HttpdParser {
    /// The directives up to the end of a section. An empty name stands for the whole file.
    fn section(
        &mut self,
        name: &str,
        depth: usize,
        notes: &mut ConversionNotes,
    ) -> Vec<ConfigStatement> {
        let begin = self.lines.get(self.at.saturating_sub(1)).map_or(0, |line| line.number);
        let mut out = Vec::new();
        while let Some(line) = self.lines.get(self.at).cloned() {
            self.at += 1;
            let place = SourcePlace::at_line(line.number);
            if let Some(end) = line.text.strip_prefix("</") {
                let end = end.trim_end_matches('>').trim().to_ascii_lowercase();
                if end != name {
                    notes.unreadable(
                        place,
                        &line.text,
                        "it closes another section",
                        "the whole file",
                    );
                }
                return out;
            }
            let opens = line.text.starts_with('<');
            let bare = if opens {
                line.text.trim_start_matches('<').trim_end().trim_end_matches('>')
            } else {
                &line.text
            };
            let Some(mut words) = split_words(bare) else {
                notes.unreadable(place, &line.text, "a quote is not closed", "the whole file");
                return out;
            };
            if words.is_empty() {
                notes.left_out(place, &line.text, "it is no directive", "");
                continue;
            }
            if depth >= DEEP {
                notes.unreadable(place, &line.text, "sections nest too deep", "the whole file");
                return out;
            }
            let entered = notes.ledger.len();
            let written = words.remove(0);
            let mut statement =
                ConfigStatement::enter_any_case(written, words, line.number, &mut notes.ledger);
            if opens {
                let own = statement.name.clone();
                let inner = self.section(&own, depth + 1, notes);
                notes.ledger.adopt(entered + 1, notes.ledger.len(), statement.source);
                if self.is_taken(&statement, notes) {
                    out.extend(inner);
                    continue;
                }
                statement.block = Some(inner);
            }
            out.push(statement);
        }
        if !name.is_empty() {
            let place = SourcePlace::at_line(begin);
            notes.unreadable(
                place,
                &format!("<{name}"),
                "a section is not closed",
                "the whole file",
            );
        }
        out
    }

    /// Whether the directives of a section stand in its place.
    fn is_taken(&self, section: &ConfigStatement, notes: &mut ConversionNotes) -> bool {
        let word = section.word(0).to_owned();
        let wanted = match section.name.as_str() {
            "ifmodule" => !word.starts_with('!'),
            "ifversion" | "iffile" => true,
            "ifdefine" => {
                let name = word.trim_start_matches('!');
                self.defined.iter().any(|one| one == name) != word.starts_with('!')
            }
            "requireany" | "requireall" | "requirenone" => {
                section.settle_converted(notes);
                return false;
            }
            _ => return false,
        };
        if wanted {
            let reason = "what the section asks for is taken to be so: its directives count";
            section.words_from(0);
            section.note_changed(reason, "", notes);
        }
        wanted
    }
}
