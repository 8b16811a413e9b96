//! A regular expression that was validated and checked for its size when the configuration was read.
//!
//! It matches arbitrary bytes in linear time (crate regex). It stores no compiled form; frequent users keep one.

use std::fmt;

use regex::bytes::{Regex, RegexBuilder};
use serde::{Serialize, Serializer};

/// Limit for the bytes of one expression, which bounds the memory of its compiled form.
const LONGEST: usize = 1_024;
/// Limit for the compiled form, bytes: nested counted repetitions would need gigabytes.
const COMPILED_BYTES: usize = 256 * 1_024;
/// Limit for the matching cache, bytes.
const CACHE_BYTES: usize = 1_024 * 1_024;
/// Limit for nested parentheses.
/// Deeper than any hand-written expression; the parser recurses.
const MAX_NESTING: u32 = 32;

/// A valid expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern(String);

/// Why an expression is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("the expression is longer than {LONGEST} bytes")]
    Long,
    /// The compiled form would be too large.
    #[error(
        "the expression is too large: compiled it would need more than {COMPILED_BYTES} bytes; use smaller repetitions"
    )]
    Large,
    /// Not a valid expression.
    #[error("not a regular expression: {0}")]
    Syntax(String),
}

impl Pattern {
    /// Validates an expression.
    ///
    /// # Errors
    /// See `PatternError`.
    pub fn new(text: &str) -> Result<Pattern, PatternError> {
        Pattern::check(text, compile_regex)
    }

    /// The same for values, which may hold any byte: `.` stands for one byte, and classes of Unicode are refused.
    ///
    /// # Errors
    /// See `PatternError`.
    pub fn of_bytes(text: &str) -> Result<Pattern, PatternError> {
        Pattern::check(text, |text| regex_builder(text).unicode(false).build())
    }

    fn check(
        text: &str,
        compile: impl Fn(&str) -> Result<Regex, regex::Error>,
    ) -> Result<Pattern, PatternError> {
        if text.len() > LONGEST {
            return Err(PatternError::Long);
        }
        match compile(text) {
            // A comment at its end would reach over what is written behind it when a whole text is compared.
            Ok(_) if text.contains('#') && compile(&format!("(?:{text})")).is_err() => {
                Err(PatternError::Syntax("its comment does not end".to_owned()))
            }
            Ok(_) => Ok(Pattern(text.to_owned())),
            Err(regex::Error::CompiledTooBig(_)) => Err(PatternError::Large),
            Err(error) => {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or("cannot be read");
                Err(PatternError::Syntax(last.trim_start_matches("error: ").to_owned()))
            }
        }
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// The number of capture groups.
    pub fn groups(&self) -> usize {
        self.compile().map_or(0, |regex| regex.captures_len().saturating_sub(1))
    }

    /// The compiled form; `None` only if a later version of the library rejects the expression.
    pub fn compile(&self) -> Option<Regex> {
        compile_regex(&self.0).ok()
    }
}

fn compile_regex(text: &str) -> Result<Regex, regex::Error> {
    regex_builder(text).build()
}

fn regex_builder(text: &str) -> RegexBuilder {
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(COMPILED_BYTES).dfa_size_limit(CACHE_BYTES).nest_limit(MAX_NESTING);
    builder
}

impl fmt::Display for Pattern {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_explodes_is_refused_and_what_is_good_matches() {
        assert_eq!(Pattern::new("(a{1000}){1000}"), Err(PatternError::Large));
        assert_eq!(Pattern::new(&"a".repeat(2_000)), Err(PatternError::Long));
        assert!(
            matches!(Pattern::new("(a"), Err(PatternError::Syntax(why)) if why.contains("unclosed"))
        );
        assert!(Pattern::new("(?x)a # b").is_err() && Pattern::new("(?x)a # b\n").is_ok());
        assert!(Pattern::of_bytes("[^a]\\xff").is_ok() && Pattern::of_bytes(r"\p{Greek}").is_err());
        // Exponential in engines that backtrack, linear here.
        let good = Pattern::new("(a|aa)+$").unwrap().compile().unwrap();
        assert!(!good.is_match(&[b"a".repeat(50_000), b"!".to_vec()].concat()));
    }
}
