//! Sections and directives. Sections that only ask whether a module is there are taken.

use std::collections::HashSet;

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;

use super::lines::{SourceLine, split_words};

/// Deeper than any file: bounds the recursion on hostile input.
const DEEP: usize = 24;

/// Parses the directives of a file. A section that is not closed makes the file unreadable.
pub fn parse(lines: Vec<SourceLine>, notes: &mut ConversionNotes) -> Vec<ConfigStatement> {
    let mut parser = HttpdParser { lines, at: 0, defined: HashSet::new(), added: Vec::new() };
    parser.section("", 0, notes)
}

struct HttpdParser {
    lines: Vec<SourceLine>,
    at: usize,
    /// What `Define` has named so far.
    defined: HashSet<String>,
    /// The same names in their order, to take back those of a section.
    added: Vec<String>,
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
            let written = words.remove(0);
            let statement =
                ConfigStatement::enter_any_case(written, words, line.number, &mut notes.ledger);
            match opens {
                true => self.block(statement, depth, &mut out, notes),
                false => {
                    self.define(&statement);
                    out.push(statement);
                }
            }
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

    /// Reads the block of a section, and adds the section or its directives to `out`.
    fn block(
        &mut self,
        mut statement: ConfigStatement,
        depth: usize,
        out: &mut Vec<ConfigStatement>,
        notes: &mut ConversionNotes,
    ) {
        let entered = notes.ledger.len();
        let own = statement.name.clone();
        let outcome = self.section_outcome(&statement);
        let known = self.added.len();
        let inner = self.section(&own, depth + 1, notes);
        notes.ledger.adopt(entered, notes.ledger.len(), statement.source);
        match outcome {
            AskedSection::Taken => {
                let reason = "what the section asks for is taken to be so: its directives count";
                statement.words_from(0);
                statement.note_changed(reason, "", notes);
                return out.extend(inner);
            }
            // What is defined in a section that does not count is not defined behind it.
            AskedSection::Skipped => {
                for name in self.added.drain(known..) {
                    self.defined.remove(&name);
                }
            }
            AskedSection::Kept => {}
        }
        statement.block = Some(inner);
        match own.as_str() {
            "ifversion" => {
                return statement.note_not_needed("it is for other versions than 2.4", notes);
            }
            "requireany" | "requireall" | "requirenone" => statement.settle_converted(notes),
            _ => {}
        }
        out.push(statement);
    }

    fn define(&mut self, statement: &ConfigStatement) {
        let name = statement.peek(0).to_owned();
        match statement.name.as_str() {
            "define" if self.defined.insert(name.clone()) => self.added.push(name),
            "undefine" => {
                self.defined.remove(&name);
            }
            _ => {}
        }
    }

    /// What becomes of a section that asks for a module, a version or a name.
    fn section_outcome(&self, section: &ConfigStatement) -> AskedSection {
        let word = section.word(0);
        let is_negated = word.starts_with('!');
        let name = word.trim_start_matches('!');
        let holds = match section.name.as_str() {
            "ifmodule" | "iffile" | "ifdirective" | "ifsection" => true,
            "ifdefine" => self.defined.contains(name),
            "ifversion" => is_version(name, section.word(1)),
            _ => return AskedSection::Kept,
        };
        if holds != is_negated { AskedSection::Taken } else { AskedSection::Skipped }
    }
}

/// What becomes of a section.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AskedSection {
    /// Its directives stand in its place.
    Taken,
    /// Its directives do not count.
    Skipped,
    /// It stays, as it says where its directives apply.
    Kept,
}

/// Whether version 2.4 meets `>= 2.4`, or `2.4` alone.
fn is_version(operator: &str, version: &str) -> bool {
    /// A late version of 2.4.
    const OWN: [u32; 3] = [2, 4, 65];
    let (operator, version) = match version {
        "" => ("=", operator),
        version => (operator, version),
    };
    let wanted: Option<Vec<u32>> = version.split('.').map(|part| part.parse().ok()).collect();
    let Some(wanted) = wanted else { return true };
    // Parts that are not named count as 0.
    let part = |at: usize| wanted.get(at).copied().unwrap_or(0);
    let ordering = OWN.cmp(&[part(0), part(1), part(2)]);
    match operator {
        "<" => ordering.is_lt(),
        "<=" => ordering.is_le(),
        ">" => ordering.is_gt(),
        ">=" => ordering.is_ge(),
        "=" | "==" => OWN.starts_with(&wanted),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_with_2_4() {
        for (operator, version, expected) in [
            (">=", "2.4", true),
            ("<", "2.4", false),
            ("<", "2.4.1", false),
            ("<=", "2.2", false),
            (">", "2.5", false),
            ("2.4", "", true),
            ("2.2", "", false),
            ("~", "/^2/", true),
        ] {
            assert_eq!(is_version(operator, version), expected, "{operator} {version}");
        }
    }
}
