//! Mistakes in the syntax of TOML as people write them, from the parser's messages, which name its grammar.
//!
//! A message of the parser that is not listed is shown as it is: the test has all that the parser makes.

/// The beginning of a parser's message, and what it says to people.
const MESSAGES: [(&str, &str); 39] = [
    (
        "invalid basic string",
        "a text in double quotes has no closing `\"`, or a control character in it",
    ),
    (
        "invalid multi-line basic string",
        "a text in `\"\"\"` is not closed, or has a control character in it",
    ),
    (
        "invalid literal string",
        "a text in single quotes has no closing `'`, or a control character in it",
    ),
    (
        "invalid multi-line literal string",
        "a text in `'''` is not closed, or has a control character in it",
    ),
    (
        "string values must be quoted",
        "this is no value: a text stands in double quotes, such as \"web\"; others are numbers, true and false",
    ),
    ("invalid boolean", "this is no value: expected true or false; a text stands in double quotes"),
    ("unclosed array table", "the header is not closed: expected `]]`"),
    ("unclosed array", "a list is not closed: expected `]`"),
    ("unclosed inline table", "a table in braces is not closed: expected `}`"),
    ("unclosed table", "the header is not closed: expected `]`"),
    ("duplicate key", "this key or table stands twice: keep one of both"),
    (
        "missing escaped value",
        "`\\` begins no known escape: write `\\\\` for a backslash, or the text in single quotes",
    ),
    (
        "invalid escape sequence",
        "`\\` begins no known escape: write `\\\\` for a backslash, or the text in single quotes",
    ),
    ("too few unicode value digits", "`\\u` needs 4 hexadecimal digits, `\\U` 8, `\\x` 2"),
    ("invalid value", "this is no value: a text stands in double quotes"),
    ("missing value", "a value is missing: write KEY = VALUE"),
    ("key with no value", "the key has no value: write KEY = VALUE"),
    ("missing assignment between key-value pairs", "a `=` is missing between key and value"),
    ("extra assignment between key-value pairs", "there is a second `=`: write KEY = VALUE"),
    ("extra `=`", "there is a second `=`: write KEY = VALUE"),
    ("unexpected `=` in array", "a list has values without names: put `{ }` around KEY = VALUE"),
    ("missing comma", "a comma is missing between two entries"),
    ("extra comma", "there is a comma too many"),
    ("invalid key-value pair", "expected KEY = VALUE on a line of its own"),
    ("invalid inline table element", "expected KEY = VALUE between the braces"),
    (
        "missing key for inline table element",
        "a value between braces has no key: write KEY = VALUE",
    ),
    (
        "invalid unquoted key",
        "this is no key: letters, digits, `-` and `_`; others stand in double quotes",
    ),
    ("unquoted keys cannot be empty", "a key is missing: write KEY = VALUE"),
    ("keys cannot be multi-line", "a key cannot stand in triple quotes"),
    (
        "unexpected key or value",
        "nothing may follow the value on its line but a comment: begin a new line, without `;`",
    ),
    ("unexpected content", "nothing may follow here but a comment: begin a new line"),
    ("invalid comment character", "a comment has a control character in it: remove it"),
    ("`_` may only go between digits", "a `_` in a number stands between two digits"),
    ("unexpected leading zero", "a number begins with no 0: a text stands in double quotes"),
    ("redundant", "a number has a sign or a beginning too many"),
    ("invalid date", "this is no date; a text stands in double quotes"),
    ("invalid time", "this is no time of day; a text stands in double quotes"),
    (
        "carriage return must be followed by newline",
        "a line ends with a carriage return alone: use line feeds",
    ),
    ("cannot recurse further", "tables and lists are nested too deeply"),
];

/// The mistake in plain words.
pub fn syntax_message(parser: &str) -> String {
    match MESSAGES.iter().find(|(start, _)| parser.starts_with(start)) {
        Some((_, message)) => (*message).to_owned(),
        None => parser.to_owned(),
    }
}

/// The first mistake in a text that was to be TOML, in one line with its place.
pub fn locate_syntax_error(error: &toml::de::Error, text: &str) -> String {
    let at = error.span().map_or(text.len(), |span| span.start.min(text.len()));
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
    format!("line {line}, column {column}: {}", syntax_message(error.message()))
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::*;

    #[test]
    fn everyday_mistakes_are_named_in_plain_words() {
        for (text, message) in [
            ("a = \"x", "no closing `\"`"),
            ("a = 'x", "no closing `'`"),
            ("[global", "expected `]`"),
            ("[[rule]", "expected `]]`"),
            ("a =", "no value"),
            ("a = 1\na = 2", "stands twice"),
            ("[a]\n[a]", "stands twice"),
            ("a = \"\\q\"", "no known escape"),
            ("a = \"\\u12\"", "hexadecimal"),
            ("a = [1", "list is not closed"),
            ("a = { b = 1", "table in braces"),
            ("a = two", "no value"),
            ("a = x y", "no value"),
            ("a = 1__2", "between two digits"),
            ("a = 2020-13-45", "no date"),
            ("a = { b = \"x\" c = 2 }", "comma is missing"),
            ("a = [\"x\" \"y\"]", "comma is missing"),
            ("a = [,]", "comma too many"),
            ("a: 2", "no value"),
            ("a = \"b\";", "nothing may follow"),
            ("= 1", "key is missing"),
            ("a = 007", "begins with no 0"),
            ("a = \"x\u{1}\"", "control character"),
            ("a = “x”", "double quotes"),
            ("a == 1", "second `=`"),
        ] {
            let (_, errors) = DeTable::parse_recoverable(text);
            let found = syntax_message(errors[0].message());
            assert!(found.contains(message), "{text}: {found} ({})", errors[0].message());
        }
    }

    #[test]
    fn a_mistake_is_located() {
        let text = "a = 1\nb = [1";
        let error = toml::from_str::<toml::Table>(text).unwrap_err();
        assert_eq!(
            locate_syntax_error(&error, text),
            "line 2, column 7: a list is not closed: expected `]`"
        );
    }

    #[test]
    fn a_message_that_is_not_known_is_kept() {
        assert_eq!(syntax_message("something new"), "something new");
    }
}
