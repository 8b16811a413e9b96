//! Criteria of HAProxy about the path of a request.

use crate::condition::{RuleCondition, escape_regex, whole_path};
use crate::notes::UnsupportedReason;

use super::criterion_parts::{CriterionParts, MatchMethod};

/// Whether a test of the whole target says the same of its path: its values begin a target and stop
/// before a query.
pub fn compares_paths(parts: &CriterionParts<'_>) -> bool {
    parts.how == MatchMethod::Prefix && parts.values.iter().all(|value| !value.contains('?'))
}

/// A condition on the path. Rules see it decoded, but for signs that are none when they stand for themselves.
///
/// # Errors
/// It is compared in a way that cannot be expressed.
pub fn path_condition(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    let why = || {
        UnsupportedReason::new(
            "it tells spellings of the path apart, and rules see it decoded",
            "a rule about the decoded path",
        )
    };
    if parts.how == MatchMethod::Present {
        return Ok(RuleCondition::Is(true));
    }
    if parts.how == MatchMethod::Regex {
        let spelling = parts.values.iter().map(|value| expression_spelling(value));
        return match spelling.max() {
            Some(TextSpelling::Other) => Err(why()),
            Some(TextSpelling::Decoded) => {
                Ok(decoded_condition(parts)?.or(RuleCondition::Unknown(why())))
            }
            _ => decoded_condition(parts),
        };
    }
    let decoded: Vec<DecodedText> = parts.values.iter().map(|value| decode(value)).collect();
    let spelling = decoded.iter().map(|one| one.spelling).max();
    match spelling {
        Some(TextSpelling::Other) => Err(why()),
        // What may be meant is among the decoded paths.
        Some(TextSpelling::Decoded) => {
            let texts = decoded.iter().map(|one| one.text.as_str());
            let values = parts.values.iter().copied().chain(texts).collect();
            let both = CriterionParts {
                name: parts.name.clone(),
                argument: parts.argument.clone(),
                values,
                ..*parts
            };
            Ok(decoded_condition(&both)?.and(RuleCondition::Unknown(why())))
        }
        _ => decoded_condition(parts),
    }
}

/// Which spellings of a path a text is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TextSpelling {
    /// Those that rules see.
    Same,
    /// Others, whose decoded form rules see.
    Decoded,
    /// Others, of which nothing is known.
    Other,
}

/// A text of a path without the escapes that rules see decoded.
struct DecodedText {
    text: String,
    spelling: TextSpelling,
}

fn decode(value: &str) -> DecodedText {
    let mut out = DecodedText { text: String::new(), spelling: TextSpelling::Same };
    let mut rest = value;
    while let Some(at) = rest.find('%') {
        out.text.push_str(&rest[..at]);
        let digits =
            rest.get(at + 1..at + 3).filter(|two| two.bytes().all(|c| c.is_ascii_hexdigit()));
        let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
            return DecodedText { text: value.to_owned(), spelling: TextSpelling::Other };
        };
        match byte {
            b'/' | b'%' | ..=b' ' | 0x7f.. => out.text.push_str(&rest[at..at + 3]),
            visible => {
                out.spelling = TextSpelling::Decoded;
                out.text.push(char::from(visible));
            }
        }
        rest = &rest[at + 3..];
    }
    out.text.push_str(rest);
    out
}

/// The spellings that an expression is about. One that fits every sign but some letters fits escapes too, and not what
/// they stand for.
fn expression_spelling(expression: &str) -> TextSpelling {
    if ["%", "\\x", "\\u", "\\0", "\\4"].iter().any(|escape| expression.contains(escape)) {
        return TextSpelling::Other;
    }
    let without_letters = |class: &str| {
        let inner = class.split(']').next().unwrap_or_default();
        inner.contains(|c: char| c.is_ascii_alphanumeric())
    };
    let is_exclusive = expression.split("[^").skip(1).any(without_letters);
    let has_others = ["\\W", "\\D"].iter().any(|class| expression.contains(class));
    if is_exclusive || has_others { TextSpelling::Decoded } else { TextSpelling::Same }
}

fn decoded_condition(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    let plain = |value: &str| !value.contains(['*', '?', '#']) && !parts.ignore_case;
    let mut globs = Vec::new();
    let mut expressions = Vec::new();
    let case = if parts.ignore_case { "(?i)" } else { "" };
    for value in parts.values.iter().map(|value| upper_escapes(value)) {
        let value = value.as_str();
        let own = escape_regex(value);
        match parts.how {
            MatchMethod::Exact | MatchMethod::Text if plain(value) => globs.push(value.to_owned()),
            MatchMethod::Exact | MatchMethod::Text => expressions.push(format!("{case}{own}")),
            MatchMethod::Prefix if plain(value) => globs.push(format!("{value}*")),
            MatchMethod::Prefix => expressions.push(format!("{case}{own}.*")),
            MatchMethod::Suffix if plain(value) && !value.starts_with('/') => {
                globs.push(format!("/**{value}"))
            }
            MatchMethod::Suffix => expressions.push(format!("{case}.*{own}")),
            MatchMethod::Contains => expressions.push(format!("{case}.*{own}.*")),
            MatchMethod::Directory => {
                let word = whole_word(value.trim_matches(['/', '?']))?;
                expressions.push(format!("{case}(?:.*/)?{word}(?:/.*)?"));
            }
            MatchMethod::Domain => {
                let word = whole_word(value.trim_matches(['/', '?', '.', ':']))?;
                expressions.push(format!("{case}(?:.*[/.:])?{word}(?:[/.:].*)?"));
            }
            MatchMethod::Regex => expressions.push(whole_path(value, parts.ignore_case)),
            _ => return Err(UnsupportedReason::new("paths are not compared so", "")),
        }
    }
    let mut any = Vec::new();
    if !globs.is_empty() {
        any.push(RuleCondition::texts("path", &globs));
    }
    if !expressions.is_empty() {
        any.push(RuleCondition::texts("path-regex", &expressions));
    }
    Ok(if any.len() == 1 { any.remove(0) } else { RuleCondition::Any(any) })
}

/// The text with capital letters in its percent-escapes, as paths are compared.
fn upper_escapes(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_escape = |at: usize| {
        let digits = bytes.get(at + 1..at + 3);
        bytes[at] == b'%' && digits.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    let in_escape = |at: usize| (1..=2).any(|back| at >= back && is_escape(at - back));
    let upper = |(at, c): (usize, char)| if in_escape(at) { c.to_ascii_uppercase() } else { c };
    text.char_indices().map(upper).collect()
}

/// The expression of a word between delimiters.
///
/// # Errors
/// It has nothing but delimiters, which HAProxy finds nowhere.
fn whole_word(word: &str) -> Result<String, UnsupportedReason> {
    match word.is_empty() {
        true => Err(UnsupportedReason::new("it looks for a word without letters", "")),
        false => Ok(escape_regex(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_about_spellings_are_told_from_those_about_paths() {
        use TextSpelling::{Decoded, Other, Same};
        for (value, text, spelling) in [
            ("/a%2fb%00%0d%25", "/a%2fb%00%0d%25", Same),
            ("/caf%C3%A9", "/caf%C3%A9", Same),
            ("%2e%2E", "..", Decoded),
            ("%3c%2f", "<%2f", Decoded),
            ("%u00", "%u00", Other),
            ("%2", "%2", Other),
            ("%", "%", Other),
        ] {
            let found = decode(value);
            assert_eq!((found.text.as_str(), found.spelling), (text, spelling), "{value}");
        }
        for (expression, spelling) in [
            ("^/[^/]+/a", Same),
            ("[^a-z/]", Decoded),
            ("\\W", Decoded),
            ("%[0-9a-f]{2}", Other),
            ("\\x25", Other),
        ] {
            assert_eq!(expression_spelling(expression), spelling, "{expression}");
        }
    }
}
