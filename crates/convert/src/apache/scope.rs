//! The directives that are in effect in a virtual host: its own, and those of the main server.

use crate::condition::{RuleCondition, escape_regex};
use crate::duration::parse_seconds;
use crate::nginx::path_text::encode_path;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::path_expression::path_expression;
use crate::statement::ConfigStatement;

/// A virtual host's directives and those around it.
#[derive(Clone, Copy, Debug)]
pub struct ServerScope<'t> {
    pub own: &'t [ConfigStatement],
    pub main: &'t [ConfigStatement],
}

impl<'t> ServerScope<'t> {
    /// The directive in effect, which is the last one. Its words count as read.
    pub fn get(&self, name: &str) -> Option<&'t ConfigStatement> {
        let last = |list: &'t [ConfigStatement]| list.iter().rev().find(|one| one.name == name);
        last(self.own).or_else(|| last(self.main))
    }

    /// The first word of the directive in effect, in small letters. It counts as converted.
    pub fn word(&self, name: &str, notes: &mut ConversionNotes) -> Option<String> {
        let found = self.get(name)?;
        let word = found.word(0).to_ascii_lowercase();
        found.settle_converted(notes);
        Some(word)
    }

    /// All directives of these names, those of the main server first.
    pub fn all(&self, names: &[&str]) -> Vec<&'t ConfigStatement> {
        let both = self.main.iter().chain(self.own);
        both.filter(|one| names.contains(&one.name.as_str())).collect()
    }

    /// All directives of these names, the virtual host's own first.
    pub fn own_first(&self, names: &[&str]) -> Vec<&'t ConfigStatement> {
        let both = self.own.iter().chain(self.main);
        both.filter(|one| names.contains(&one.name.as_str())).collect()
    }

    /// Seconds of a directive, in milliseconds.
    pub fn seconds(&self, name: &str, notes: &mut ConversionNotes) -> Option<u64> {
        let found = self.get(name)?;
        let ms = duration(found.word(0))?;
        found.settle_converted(notes);
        Some(ms)
    }
}

/// A time in milliseconds: seconds, or a number with `ms`, `s`, `min` or `h`.
pub fn duration(text: &str) -> Option<u64> {
    let digits =
        text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let unit = match &text[digits..] {
        "" | "s" => 1_000,
        "ms" => 1,
        "min" | "mi" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    parse_seconds(&text[..digits])?.checked_mul(unit).map(|ms| ms / 1_000).filter(|ms| *ms > 0)
}

/// The paths that a section or a directive is about.
#[derive(Clone, Debug)]
pub struct SectionPath {
    pub when: RuleCondition,
    /// The beginning without a slash at its end, where that is all. Empty for every path.
    pub prefix: Option<String>,
    /// The path ends with a slash, which what follows comes behind.
    pub is_folder: bool,
}

impl SectionPath {
    /// A path and everything below it.
    pub fn below(path: &str) -> SectionPath {
        let prefix = path.trim_end_matches('/').to_owned();
        let when = if prefix.is_empty() {
            RuleCondition::Is(true)
        } else if !path.starts_with('/') || path.contains(['*', '?', '[', '%', '{', '\\']) {
            let why = UnsupportedReason::new(
                format!("the path `{path}` cannot be written"),
                "`path-regex`",
            );
            return SectionPath {
                when: RuleCondition::Unknown(why),
                prefix: None,
                is_folder: false,
            };
        } else if path.ends_with('/') {
            RuleCondition::texts("path", &[format!("{}*", encode_path(path))])
        } else {
            let path = encode_path(path);
            RuleCondition::texts("path", &[path.clone(), format!("{path}/*")])
        };
        let is_folder = path.ends_with('/') && !prefix.is_empty();
        SectionPath { when, prefix: Some(prefix), is_folder }
    }

    /// The paths that an expression finds something in.
    pub fn found_by(expression: &str) -> SectionPath {
        let when = match expression {
            "" | "^" | "/" | "^/" | ".*" | "^.*$" | "(.*)" | "^(.*)$" | "^/.*" | "^/.*$" => {
                RuleCondition::Is(true)
            }
            _ => RuleCondition::texts("path-regex", &[path_expression(expression, false)]),
        };
        SectionPath { when, prefix: None, is_folder: false }
    }

    /// The paths of `<Location>` and `<LocationMatch>`.
    pub fn of_section(section: &ConfigStatement) -> SectionPath {
        match (section.name.as_str(), section.word(0)) {
            ("locationmatch", expression) => SectionPath::found_by(expression),
            (_, "~") => SectionPath::found_by(section.word(1)),
            (_, path) if path.contains(['*', '?']) && !path.contains(['[', '%', '{', '\\']) => {
                let regex = escape_regex(path).replace("\\*", "[^/]*").replace("\\?", "[^/]");
                // Unlike a plain path, a pattern does not reach below what it fits.
                let when = RuleCondition::texts("path-regex", &[regex]);
                SectionPath { when, prefix: None, is_folder: false }
            }
            (_, path) => SectionPath::below(path),
        }
    }

    /// Whether every path of `other` is one of these, as far as that is known.
    pub fn covers(&self, other: &SectionPath) -> bool {
        match (&self.prefix, &other.prefix) {
            (Some(own), _) if own.is_empty() => true,
            (Some(own), Some(other)) => other == own || other.starts_with(&format!("{own}/")),
            _ => false,
        }
    }

    /// Whether no path of `other` is one of these, as far as that is known.
    pub fn is_apart_from(&self, other: &SectionPath) -> bool {
        match (&self.prefix, &other.prefix) {
            (Some(_), Some(_)) => !self.covers(other) && !other.covers(self),
            _ => false,
        }
    }
}
