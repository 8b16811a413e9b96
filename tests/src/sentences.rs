//! Sentences of the documentation are short: each one, and on average over all pages.
//!
//! Counted are paragraphs and list items of the pages for users. Headings, tables, code blocks and pages that record
//! (proofs, decisions, generated references) are not. A code span and a link's text count as they are read: a span as one
//! word, a link by the words of its text. The help of the commands is held to the same figures, from the page that is
//! written from it: descriptions and paragraphs, without usage lines and examples.

use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// Words of a sentence at most.
const LONGEST: usize = 40;
/// Words of a sentence on average over all pages at most.
const MEAN: usize = 17;
/// Folders and pages that record or are generated.
const RECORDS: [&str; 3] = ["docs/proof/", "docs/decisions/", "docs/reference/"];
/// The help of all commands.
const HELP: &str = "docs/reference/commands.md";

/// A sentence that ends in a line of a page.
#[derive(Debug, PartialEq, Eq)]
struct CountedSentence {
    line: usize,
    words: usize,
}

/// Sentences that are too long, and a mean that is.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    let mut pages = SentenceTotal::default();
    for file in tree.files.iter().filter(|file| is_for_users(file)) {
        pages.add(&file.path, count_sentences(&file.text), &mut out);
    }
    out.extend(pages.mean_breach("docs/"));
    let mut help = SentenceTotal::default();
    if let Some(file) = tree.file(HELP) {
        help.add(HELP, count_sentences(&help_as_page(&file.text)), &mut out);
    }
    out.extend(help.mean_breach(HELP));
    out
}

/// Sentences so far, and their words.
#[derive(Default)]
struct SentenceTotal {
    sentences: usize,
    words: usize,
}

impl SentenceTotal {
    fn add(&mut self, path: &str, counted: Vec<CountedSentence>, out: &mut Vec<RuleBreach>) {
        for one in counted {
            self.sentences += 1;
            self.words += one.words;
            if one.words > LONGEST {
                let text = format!(
                    "a sentence of {} words ends here, expected at most {LONGEST}: split it",
                    one.words
                );
                out.push(RuleBreach::new(path, one.line, text));
            }
        }
    }

    fn mean_breach(&self, place: &str) -> Option<RuleBreach> {
        (self.words > MEAN * self.sentences).then(|| {
            let mean = self.words as f64 / self.sentences as f64;
            let text =
                format!("sentences have {mean:.1} words on average, expected at most {MEAN}");
            RuleBreach::new(place, 0, text)
        })
    }
}

/// Help texts as paragraphs, line by line: the description of each option and command is one, usage lines and examples
/// are none.
fn help_as_page(page: &str) -> String {
    let mut in_examples = false;
    let lines = page.lines().map(|line| {
        let text = line.trim();
        if line.starts_with("```") || text.starts_with("Usage:") {
            in_examples = false;
            return String::new();
        }
        if !line.starts_with(' ') && line.ends_with(':') {
            in_examples = text.starts_with("Example");
            return String::new();
        }
        let indent = line.len() - line.trim_start().len();
        let is_entry =
            (1..=10).contains(&indent) && (text.starts_with(['-', '[', '<']) || indent == 2);
        match text.split_once("  ") {
            _ if in_examples && indent > 0 => String::new(),
            Some((_, description)) if is_entry => format!("- {}", description.trim()),
            None if is_entry => String::new(),
            _ => text.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_for_users(file: &SourceFile) -> bool {
    let page = file.path.starts_with("docs/") && file.path.ends_with(".md");
    let recorded = RECORDS.iter().any(|folder| file.path.starts_with(folder));
    file.path == "README.md" || (page && !recorded)
}

fn count_sentences(page: &str) -> Vec<CountedSentence> {
    let mut found = Vec::new();
    let mut paragraph = ParagraphWords::default();
    let mut is_code = false;
    for (at, line) in page.lines().enumerate() {
        let text = line.trim();
        if text.starts_with("```") {
            is_code = !is_code;
            paragraph.end(at, &mut found);
        } else if is_code || (line.starts_with("    ") && paragraph.words == 0) {
            // Code, fenced or indented.
        } else if text.is_empty() || text.starts_with(['#', '|', '<']) {
            paragraph.end(at, &mut found);
        } else {
            let item = list_item(text);
            if item.is_some() {
                paragraph.end(at, &mut found);
            }
            paragraph.add_line(at + 1, item.unwrap_or(text), &mut found);
        }
    }
    paragraph.end(page.lines().count(), &mut found);
    found
}

/// The text of a list's item.
fn list_item(text: &str) -> Option<&str> {
    let numbered = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let numbered = numbered.strip_prefix(". ").filter(|_| numbered.len() < text.len());
    text.strip_prefix("* ").or_else(|| text.strip_prefix("- ")).or(numbered)
}

/// Words since the last end of a sentence.
#[derive(Default)]
struct ParagraphWords {
    words: usize,
    /// Within a code span or the target of a link, which may go over the end of a line.
    in_span: bool,
    in_target: bool,
}

impl ParagraphWords {
    fn add_line(&mut self, line: usize, text: &str, found: &mut Vec<CountedSentence>) {
        for word in text.split_whitespace() {
            let was_within = self.in_span || self.in_target;
            let ends_here = self.follow(word);
            if !was_within {
                self.words += 1;
            }
            if ends_here {
                self.end(line, found);
            }
        }
    }

    /// Keeps track of spans and targets through a word. Whether the word ends a sentence.
    fn follow(&mut self, word: &str) -> bool {
        let mut last = ' ';
        let mut ends = false;
        for letter in word.chars() {
            match letter {
                '`' => self.in_span = !self.in_span,
                '(' if last == ']' && !self.in_span => self.in_target = true,
                ')' if self.in_target => self.in_target = false,
                _ => {}
            }
            let closes = matches!(letter, ')' | '"' | '*' | '\'' | '`');
            ends = !self.in_span
                && !self.in_target
                && (matches!(letter, '.' | '!' | '?') || (ends && closes));
            last = letter;
        }
        ends && !["e.g.", "i.e.", "vs."].contains(&word)
    }

    fn end(&mut self, line: usize, found: &mut Vec<CountedSentence>) {
        if self.words > 1 {
            found.push(CountedSentence { line, words: self.words });
        }
        self.words = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(page: &str) -> Vec<usize> {
        count_sentences(page).into_iter().map(|one| one.words).collect()
    }

    #[test]
    fn sentences_end_at_stops_paragraphs_and_items() {
        assert_eq!(lengths("One two three. Four five\nsix seven!\n\nEight nine"), [3, 4, 2]);
        assert_eq!(lengths("* One two\n* three four five\n1. six seven\n"), [2, 3, 2]);
        assert_eq!(lengths("He said **so.** Then \"went away.\" Gone now"), [3, 3, 2]);
    }

    #[test]
    fn what_is_not_prose_is_not_counted() {
        let page = "# A heading of words\n\n| a row | of words |\n\n```\ncode that is long\n```\n\n    $ more\n    code\n\nTwo words.\n";
        assert_eq!(lengths(page), [2]);
    }

    #[test]
    fn descriptions_in_help_are_counted_and_examples_are_not() {
        let help = "## a\n\n```text\nOne two three\n\nUsage: a [OPTIONS] <FILE>\n\nOptions:\n  -c, --config <FILE>  Four words\n                       of description\n      --json\n          Two words\n\nExamples:\n  a b   many words that are not counted\n\nFive words at the end.\n```\n";
        assert_eq!(lengths(&help_as_page(help)), [3, 4, 2, 5]);
        let long = format!("```text\n{}\n```\n", ["word"; 41].join(" "));
        let found = offences(&SourceTree::from_files(&[(HELP, &long)]));
        assert!(found.iter().any(|one| one.to_string().contains("41 words")), "{found:?}");
    }

    #[test]
    fn spans_and_links_count_as_they_are_read() {
        assert_eq!(lengths("Use `a b. c d` now."), [3]);
        assert_eq!(lengths("See [the long page](a/b.md) there."), [5]);
        assert_eq!(lengths("Version 1.2 of `x.y` is 3.5 ms."), [7]);
    }
}
