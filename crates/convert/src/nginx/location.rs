//! Locations with their paths: how each is compared, and the condition that it becomes. `location_order` puts them in
//! their order.

use crate::condition::{RuleCondition, escape_regex};
use crate::path_expression::path_expression;

use super::constant::without_lookahead;
use super::path_text::{compared_form, encode_path};
use super::tree::Directive;

/// How a location's path is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationMatch {
    Exact,
    Prefix,
    Final,
    Regex { ignore_case: bool },
    Named,
}

/// The modifiers of paths. A longer one stands before its own beginning.
const MODIFIERS: [(&str, LocationMatch); 4] = [
    ("=", LocationMatch::Exact),
    ("^~", LocationMatch::Final),
    ("~*", LocationMatch::Regex { ignore_case: true }),
    ("~", LocationMatch::Regex { ignore_case: false }),
];

/// The argument of a `location`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocationPath<'t> {
    pub kind: LocationMatch,
    /// A path, an expression, or a name with its `@`.
    pub text: &'t str,
}

impl<'t> LocationPath<'t> {
    /// The path of a `location`. A modifier may stand before it without a blank.
    pub fn read(location: &'t Directive) -> LocationPath<'t> {
        let first = location.word(0);
        if location.peek_all().len() > 1 {
            let known = MODIFIERS.iter().find(|(modifier, _)| *modifier == first);
            let kind = known.map_or(LocationMatch::Prefix, |(_, kind)| *kind);
            return LocationPath { kind, text: location.word(1) };
        }
        for (modifier, kind) in MODIFIERS {
            if let Some(text) = first.strip_prefix(modifier) {
                return LocationPath { kind, text };
            }
        }
        let kind =
            if first.starts_with('@') { LocationMatch::Named } else { LocationMatch::Prefix };
        LocationPath { kind, text: first }
    }

    pub fn is_prefix(self) -> bool {
        matches!(self.kind, LocationMatch::Prefix | LocationMatch::Final)
    }

    pub fn is_regex(self) -> bool {
        matches!(self.kind, LocationMatch::Regex { .. })
    }

    /// The location's own condition, regardless of other locations. Requests do not reach a named one.
    pub fn condition(self) -> RuleCondition {
        match self.kind {
            LocationMatch::Exact => exact_path(self.text),
            LocationMatch::Prefix | LocationMatch::Final => path_prefix(self.text),
            LocationMatch::Regex { ignore_case } => {
                let plain = without_lookahead(self.text);
                let expression = plain.as_deref().unwrap_or(self.text);
                RuleCondition::texts("path-regex", &[path_expression(expression, ignore_case)])
            }
            LocationMatch::Named => RuleCondition::Is(false),
        }
    }
}

/// A location with its condition.
#[derive(Clone, Debug)]
pub struct LocationBlock<'t> {
    pub directive: &'t Directive,
    /// The enclosing locations, the outermost first. The location inherits their directives.
    pub outer: Vec<&'t Directive>,
    /// The condition, provided that no earlier location matched.
    pub when: RuleCondition,
    pub path: LocationPath<'t>,
}

impl<'t> LocationBlock<'t> {
    /// The prefix that `proxy_pass` may replace.
    pub fn prefix(&self) -> Option<&'t str> {
        self.path.is_prefix().then_some(self.path.text)
    }

    /// The one path that the location matches.
    pub fn exact(&self) -> Option<&'t str> {
        (self.path.kind == LocationMatch::Exact).then_some(self.path.text)
    }
}

/// Named locations, which requests reach only from other locations: `location @app`.
pub fn named_locations(server: &[Directive]) -> Vec<&Directive> {
    let named = |one: &&Directive| one.name == "location" && one.word(0).starts_with('@');
    server.iter().filter(named).collect()
}

/// The named location to which `try_files` of a level falls back. `None` if the last argument is not a named location.
pub fn fallback(level: &[Directive]) -> Option<&str> {
    last_try(level).filter(|last| last.starts_with('@'))
}

/// What `try_files` of a level does where none of the files is there: a named location, a path or `=CODE`.
pub fn last_try(level: &[Directive]) -> Option<&str> {
    let files = level.iter().find(|one| one.name == "try_files")?;
    files.args().last().map(String::as_str)
}

fn exact_path(path: &str) -> RuleCondition {
    if path.contains('*') {
        return RuleCondition::texts("path-regex", &[escape_regex(&compared_form(path))]);
    }
    RuleCondition::texts("path", &[encode_path(path)])
}

fn path_prefix(path: &str) -> RuleCondition {
    match path {
        "/" => RuleCondition::Is(true),
        text if text.contains('*') => {
            let expression = format!("{}.*", escape_regex(&compared_form(text)));
            RuleCondition::texts("path-regex", &[expression])
        }
        text => RuleCondition::texts("path", &[format!("{}*", encode_path(text))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notes::ConversionNotes;

    #[test]
    fn modifiers_stand_before_their_path_with_or_without_a_blank() {
        let exact = LocationMatch::Exact;
        let regex = LocationMatch::Regex { ignore_case: false };
        let any_case = LocationMatch::Regex { ignore_case: true };
        for (words, kind, text) in [
            ("= /a", exact, "/a"),
            ("=/a", exact, "/a"),
            ("^~ /a", LocationMatch::Final, "/a"),
            ("^~/a", LocationMatch::Final, "/a"),
            ("~ ^/a", regex, "^/a"),
            ("~^/a", regex, "^/a"),
            ("~* a", any_case, "a"),
            ("~*a", any_case, "a"),
            ("/~a", LocationMatch::Prefix, "/~a"),
            ("@a", LocationMatch::Named, "@a"),
        ] {
            let mut notes = ConversionNotes::new("x");
            let parsed =
                super::super::tree::parse(format!("location {words} {{ }}"), 1, &mut notes);
            let read = LocationPath::read(&parsed[0]);
            assert_eq!(read, LocationPath { kind, text }, "{words}");
        }
    }

    #[test]
    fn paths_are_compared_in_their_encoded_form() {
        for (words, when) in [
            ("/a b", "{ path = \"/a%20b*\" }"),
            ("= /ü", "{ path = \"/%C3%BC\" }"),
            ("= /50%", "{ path = \"/50%25\" }"),
            ("= /a?b", "{ path = \"/a%3Fb\" }"),
            ("= /*", "{ path-regex = \"/\\\\*\" }"),
            ("~ ^/ü+$", "{ path-regex = \"/%C3(?:%BC)+\" }"),
        ] {
            let (kind, text) = match words.split_once(' ').filter(|(one, _)| one.len() == 1) {
                Some(("=", text)) => (LocationMatch::Exact, text),
                Some(("~", text)) => (LocationMatch::Regex { ignore_case: false }, text),
                _ => (LocationMatch::Prefix, words),
            };
            let written = LocationPath { kind, text }.condition().to_when();
            assert_eq!(written.as_deref(), Some(when), "{words}");
        }
    }
}
