//! What serde and its formats say of a JSON or YAML text, in plain words: which field, what was found, what was expected.
//!
//! It changes the parts of a message that serde is known to write and leaves everything else.

/// How serde begins a statement that a value has the wrong type or is out of range.
const FOUND: [&str; 3] = ["invalid type: ", "invalid value: ", "invalid length "];

/// Rust's types and serde's words behind "expected ", and what a person would say. Longer ones first.
const EXPECTED: [(&str, &str); 20] = [
    ("a sequence", "a list"),
    ("a map", "an object"),
    ("a string", "a text"),
    ("a borrowed string", "a text"),
    ("a boolean", "true or false"),
    ("a nonzero u16", "a whole number from 1 to 65535"),
    ("a nonzero u32", "a whole number from 1 on"),
    ("a nonzero u64", "a whole number from 1 on"),
    ("usize", "a whole number from 0 on"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number from 0 on"),
    ("i8", "a whole number"),
    ("i16", "a whole number"),
    ("i32", "a whole number"),
    ("i64", "a whole number"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("unit", "nothing"),
];

/// What serde calls a value that it found.
const VALUES: [(&str, &str); 9] = [
    ("string ", "the text "),
    ("integer ", ""),
    ("floating point ", ""),
    ("boolean ", ""),
    ("unit value", "nothing"),
    ("null", "null"),
    ("sequence", "a list"),
    ("map", "an object"),
    ("character ", "the text "),
];

/// The message with serde's texts in plain words.
pub fn replace_serde_texts(mut text: String) -> String {
    for (start, end) in
        [("missing field `", " is missing"), ("duplicate field `", " stands there twice")]
    {
        replace_named(&mut text, start, end);
    }
    for start in ["unknown field `", "unknown variant `"] {
        replace_named(&mut text, start, " is not known here");
    }
    if let Some(at) = text.find("data did not match any variant of untagged enum ") {
        let name = text[at..].rfind(' ').map_or(text.len(), |blank| at + blank + 1);
        let length = word_length(&text[name..]);
        text.replace_range(at..name + length, "it has none of the forms that are expected");
    }
    let has_found = FOUND.iter().any(|start| text.contains(start));
    for start in FOUND {
        replace_found(&mut text, start);
    }
    if has_found {
        replace_expected(&mut text);
    }
    text.replace("trailing characters at line", "more text follows the end, at line")
        .replace("key must be a string at line", "a name in quotes is expected, at line")
}

/// ``missing field `a` `` becomes `` `a` is missing``.
fn replace_named(text: &mut String, start: &str, end: &str) {
    while let Some(at) = text.find(start) {
        let name = at + start.len();
        let Some(length) = text[name..].find('`') else { return };
        let plain = format!("`{}`{end}", &text[name..name + length]);
        text.replace_range(at..=name + length, &plain);
    }
}

/// `invalid type: string "a"` becomes `found the text "a"`.
fn replace_found(text: &mut String, start: &str) {
    while let Some(at) = text.find(start) {
        let value = at + start.len();
        let found = VALUES.iter().find(|(raw, _)| text[value..].starts_with(raw));
        let (raw, plain) = found.copied().unwrap_or(("", ""));
        text.replace_range(at..value + raw.len(), &format!("found {plain}"));
    }
}

/// `expected u16` becomes `expected a whole number from 0 to 65535`.
fn replace_expected(text: &mut String) {
    const WORD: &str = "expected ";
    let mut from = 0;
    while let Some(at) = text[from..].find(WORD).map(|at| from + at + WORD.len()) {
        from = at;
        let rest = &text[at..];
        let ends = |raw: &str| {
            rest.starts_with(raw)
                && !rest[raw.len()..].starts_with(|next: char| next.is_ascii_alphanumeric())
        };
        if let Some((raw, plain)) = EXPECTED.iter().find(|(raw, _)| ends(raw)) {
            text.replace_range(at..at + raw.len(), plain);
        } else if let Some(kind) = ["struct ", "tuple struct ", "internally tagged enum ", "enum "]
            .iter()
            .find(|kind| rest.starts_with(**kind))
        {
            let length = kind.len() + word_length(&rest[kind.len()..]);
            text.replace_range(at..at + length, "an object");
        }
    }
}

fn word_length(text: &str) -> usize {
    text.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serde_says_reads_as_plain_words() {
        for (raw, plain) in [
            ("missing field `name` at line 1 column 2", "`name` is missing at line 1 column 2"),
            ("a: duplicate field `b`", "a: `b` stands there twice"),
            (
                "unknown field `x`, expected `a` or `b`",
                "`x` is not known here, expected `a` or `b`",
            ),
            (
                "unknown variant `x`, expected one of `a`, `b`",
                "`x` is not known here, expected one of `a`, `b`",
            ),
            (
                "invalid type: string \"a\", expected u16 at line 2 column 3",
                "found the text \"a\", expected a whole number from 0 to 65535 at line 2 column 3",
            ),
            (
                "invalid value: integer `300`, expected u8",
                "found `300`, expected a whole number from 0 to 255",
            ),
            ("invalid type: null, expected a map", "found null, expected an object"),
            (
                "invalid type: sequence, expected struct ServerActionRequest at line 1 column 0",
                "found a list, expected an object at line 1 column 0",
            ),
            ("invalid length 2, expected 3 elements", "found 2, expected 3 elements"),
            (
                "data did not match any variant of untagged enum Target",
                "it has none of the forms that are expected",
            ),
            (
                "trailing characters at line 3 column 1",
                "more text follows the end, at line 3 column 1",
            ),
            ("expected u16 of something else", "expected u16 of something else"),
            ("missing field `", "missing field `"),
            ("nothing of that kind", "nothing of that kind"),
        ] {
            assert_eq!(replace_serde_texts(raw.to_owned()), plain);
        }
    }

    #[test]
    fn real_errors_of_serde_are_known() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        struct Order {
            #[allow(dead_code, reason = "only read by serde")]
            port: u16,
        }
        for (text, plain) in [
            ("{}", "`port` is missing"),
            ("{\"port\": 1, \"a\": 2}", "`a` is not known here, expected `port`"),
            ("{\"port\": -1}", "found `-1`, expected a whole number from 0 to 65535"),
            ("{\"port\": \"a\"}", "found the text \"a\", expected a whole number"),
            ("7", "found `7`, expected an object"),
            ("{\"port\": 1} x", "more text follows the end"),
        ] {
            let error = serde_json::from_str::<Order>(text).unwrap_err().to_string();
            let found = replace_serde_texts(error.clone());
            assert!(found.contains(plain), "{text}: {error} → {found}");
        }
    }
}
