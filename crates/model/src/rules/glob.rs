//! Globs and expressions of rules, compiled. It knows no request.

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use crate::config::{PathCase, Pattern};
use crate::path::comparison_form;

/// Bytes that a compiled glob may have: bounds the memory of a rule.
const GLOB_BYTES: usize = 256 * 1_024;

enum GlobPart<'g> {
    Anything,
    Star,
    One,
    /// Text that stands for itself.
    Text(&'g str),
}

/// Expressions, compiled as a set that tells whether one matches, and each for its groups.
pub(super) struct CompiledPatterns {
    pub(super) set: RegexSet,
    pub(super) each: Vec<Regex>,
}

/// Expressions, each for the whole path; `None`: one no longer compiles.
pub(super) fn compile_patterns(patterns: &[Pattern], case: PathCase) -> Option<CompiledPatterns> {
    let whole: Vec<String> =
        patterns.iter().map(|pattern| format!("^(?:{})$", pattern.text())).collect();
    let set = RegexSetBuilder::new(&whole)
        .case_insensitive(case == PathCase::Ignore)
        .size_limit(GLOB_BYTES * whole.len())
        .build();
    let each = whole.iter().filter_map(|pattern| compile_regex(pattern, case)).collect();
    Some(CompiledPatterns { set: set.ok()?, each })
}

/// A glob for a whole path. Literal text is brought into the form in which paths are compared.
pub(super) fn compile_path_glob(glob: &str, case: PathCase) -> Option<Regex> {
    let mut text = String::from("(?s-u)^");
    for part in parse_glob(glob, false) {
        match part {
            GlobPart::Anything => text.push_str(".*"),
            GlobPart::Star => text.push_str("[^/]*"),
            GlobPart::One => text.push_str("[^/]"),
            GlobPart::Text(own) => {
                let own = comparison_form(own.as_bytes());
                text.push_str(&regex::escape(str::from_utf8(&own).ok()?));
            }
        }
    }
    text.push('$');
    compile_regex(&text, case)
}

/// A glob for a whole value. `ignore_case`: letter case does not count.
pub(super) fn compile_value_glob(glob: &str, ignore_case: bool) -> Option<Regex> {
    let mut text = String::from("(?s-u)^");
    for part in parse_glob(glob, true) {
        match part {
            GlobPart::Anything | GlobPart::Star => text.push_str(".*"),
            GlobPart::One => text.push_str("[^/]"),
            GlobPart::Text(own) => text.push_str(&regex::escape(own)),
        }
    }
    text.push('$');
    compile_regex(&text, if ignore_case { PathCase::Ignore } else { PathCase::Exact })
}

/// An expression for a whole value, which may hold any byte.
pub(super) fn compile_value_pattern(pattern: &Pattern) -> Option<Regex> {
    compile_regex(&format!("(?-u)^(?:{})$", pattern.text()), PathCase::Exact)
}

/// Expressions, each for the whole host; `None`: one no longer compiles.
pub(super) fn compile_host_patterns(patterns: &[Pattern]) -> Option<RegexSet> {
    compile_patterns(patterns, PathCase::Ignore).map(|compiled| compiled.set)
}

/// A value without wildcards, its escapes removed; `None`: it is a glob.
pub(super) fn unescape_literal(value: &str) -> Option<String> {
    let text = |part: GlobPart<'_>| match part {
        GlobPart::Text(own) => Some(own.to_owned()),
        GlobPart::Anything | GlobPart::Star | GlobPart::One => None,
    };
    parse_glob(value, true).into_iter().map(text).collect()
}

/// The parts of a glob. `escapes`: a `\` before `*`, `?` or `\` makes it literal.
fn parse_glob(glob: &str, escapes: bool) -> Vec<GlobPart<'_>> {
    let mut parts = Vec::new();
    let mut rest = glob;
    while !rest.is_empty() {
        let special = |c: char| matches!(c, '*' | '?') || (escapes && c == '\\');
        let at = rest.find(special).unwrap_or(rest.len());
        if at > 0 {
            parts.push(GlobPart::Text(&rest[..at]));
            rest = &rest[at..];
            continue;
        }
        let (part, length) = match rest.as_bytes() {
            [b'*', b'*', ..] => (GlobPart::Anything, 2),
            [b'*', ..] => (GlobPart::Star, 1),
            [b'?', ..] => (GlobPart::One, 1),
            [b'\\', b'*' | b'?' | b'\\', ..] => (GlobPart::Text(&rest[1..2]), 2),
            _ => (GlobPart::Text(&rest[..1]), 1),
        };
        parts.push(part);
        rest = &rest[length..];
    }
    parts
}

fn compile_regex(text: &str, case: PathCase) -> Option<Regex> {
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(GLOB_BYTES).case_insensitive(case == PathCase::Ignore).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_makes_a_star_stand_for_itself() {
        for (value, want) in [
            ("plain", Some("plain")),
            (r"\*", Some("*")),
            (r"a\?\*b", Some("a?*b")),
            (r"a\\b", Some(r"a\b")),
            (r"a\b", Some(r"a\b")),
            (r"a\", Some(r"a\")),
            ("*", None),
            (r"\\*", None),
            (r"\*?", None),
        ] {
            assert_eq!(unescape_literal(value).as_deref(), want, "{value}");
        }
        let glob = compile_value_glob(r"\**é\\", false).unwrap();
        assert!(glob.is_match("*/xé\\".as_bytes()) && !glob.is_match("xé\\".as_bytes()));
    }

    #[test]
    fn what_a_path_glob_writes_has_the_form_of_paths() {
        let fits = |glob: &str, path: &str| {
            compile_path_glob(glob, PathCase::Exact).unwrap().is_match(path.as_bytes())
        };
        assert!(fits("/%61/*/caf%c3%a9", "/a/x/caf%C3%A9"));
        assert!(fits("/%2A/**", "/*/x/y") && !fits("/%2A/**", "/z/x"));
        assert!(compile_path_glob("/A*b", PathCase::Ignore).unwrap().is_match(b"/axB"));
    }
}
