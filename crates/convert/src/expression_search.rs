//! Whether an expression is found in a text, for what a conversion itself evaluates.

use regex::RegexBuilder;

/// The longest expression, in bytes. Rules have the same limit.
const EXPRESSION: usize = 900;
/// Bytes of memory of one expression.
const COMPILED: usize = 256 * 1024;

/// Whether an expression is found in a text. `None`: it is no expression that we read.
pub fn search(expression: &str, ignore_case: bool, text: &str) -> Option<bool> {
    if expression.len() > EXPRESSION {
        return None;
    }
    let mut builder = RegexBuilder::new(expression);
    builder.case_insensitive(ignore_case).size_limit(COMPILED).nest_limit(32);
    builder.build().ok().map(|found| found.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_searched_within_bounds() {
        for (expression, ignore_case, text, found) in [
            ("b", false, "abc", Some(true)),
            ("^b", false, "abc", Some(false)),
            ("B", true, "abc", Some(true)),
            ("(?=a)", false, "abc", None),
            ("^$", false, "", Some(true)),
        ] {
            assert_eq!(search(expression, ignore_case, text), found, "{expression}");
        }
        assert_eq!(search(&"a".repeat(1_000), false, ""), None);
    }
}
