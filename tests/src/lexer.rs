//! Rust text to tokens, well enough for rules about names and shapes.
//!
//! Comments are dropped and literals only have a kind, so that no rule matches prose. This module does not parse: an
//! item is found by its keyword and matching braces.

/// A token and its line number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RustToken<'t> {
    /// An identifier, a lifetime, one punctuation character, `::`, or `"` for any literal.
    pub text: &'t str,
    pub line: usize,
}

impl RustToken<'_> {
    /// Whether it is a name or keyword.
    pub fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c == '_' || c.is_alphabetic())
    }
}

/// All tokens of a text.
pub fn tokens(text: &str) -> Vec<RustToken<'_>> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let mut out = Vec::new();
    while let Some(token) = lexer.next() {
        out.push(token);
    }
    out
}

/// Every word of a text outside comments. Words inside literals count.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let spans = std::iter::from_fn(move || lexer.next_span().map(|(span, _)| span));
    spans.flat_map(|span| span.split(|c: char| c != '_' && !c.is_alphanumeric()))
}

/// Leaves out every item under `#[cfg(test)]` or `#[test]`.
pub fn without_tests(tokens: Vec<RustToken<'_>>) -> Vec<RustToken<'_>> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if attribute_is_test(&tokens[at..]) {
            at = after_item(&tokens, at);
        } else {
            out.push(tokens[at]);
            at += 1;
        }
    }
    out
}

/// Index of the token that closes the bracket opened at `open`; the last token when it is never closed.
pub fn closing(tokens: &[RustToken<'_>], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len().saturating_sub(1)
}

/// Whether the tokens from `at` spell `words`.
pub fn spells(tokens: &[RustToken<'_>], at: usize, words: &[&str]) -> bool {
    words.iter().enumerate().all(|(n, word)| tokens.get(at + n).is_some_and(|t| t.text == *word))
}

fn attribute_is_test(tokens: &[RustToken<'_>]) -> bool {
    spells(tokens, 0, &["#", "[", "cfg", "(", "test", ")", "]"])
        || spells(tokens, 0, &["#", "[", "test", "]"])
        || spells(tokens, 0, &["#", "[", "cfg", "(", "all", "(", "test"])
}

/// The index after the item that starts with an attribute at `at`: past its block or its semicolon.
fn after_item(tokens: &[RustToken<'_>], mut at: usize) -> usize {
    while at < tokens.len() {
        match tokens[at].text {
            "{" => return closing(tokens, at) + 1,
            "(" | "[" => at = closing(tokens, at) + 1,
            ";" => return at + 1,
            _ => at += 1,
        }
    }
    at
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> Lexer<'t> {
    fn next(&mut self) -> Option<RustToken<'t>> {
        self.skip_blank_and_comments();
        let line = self.line;
        let (span, literal) = self.next_span()?;
        Some(RustToken { text: if literal { "\"" } else { span }, line })
    }

    /// The text of the next token, and whether it is a literal.
    fn next_span(&mut self) -> Option<(&'t str, bool)> {
        self.skip_blank_and_comments();
        let rest = self.rest();
        let (length, literal) = measure(rest, rest.chars().next()?);
        self.advance(length);
        Some((&rest[..length], literal))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn advance(&mut self, bytes: usize) {
        self.line += self.rest()[..bytes].bytes().filter(|b| *b == b'\n').count();
        self.at += bytes;
    }

    fn skip_blank_and_comments(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                self.advance(blank);
            } else if rest.starts_with("//") {
                self.advance(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("/*") {
                self.advance(block_comment(rest));
            } else {
                return;
            }
        }
    }
}

/// The length of the token at the start of `rest`, and whether it is a literal.
fn measure(rest: &str, first: char) -> (usize, bool) {
    if let Some(length) = string_literal(rest) {
        return (length, true);
    }
    if first == '\'' {
        return quote(rest);
    }
    if first.is_ascii_digit() {
        return (number(rest), true);
    }
    if first == '_' || first.is_alphabetic() {
        return (word(rest), false);
    }
    (if rest.starts_with("::") { 2 } else { first.len_utf8() }, false)
}

fn word(rest: &str) -> usize {
    rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len())
}

fn number(rest: &str) -> usize {
    let whole = word(rest);
    let fraction =
        rest[whole..].strip_prefix('.').filter(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    fraction.map_or(whole, |fraction| whole + 1 + word(fraction))
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// A string of any kind at the start of `rest`: plain, byte, C or raw.
fn string_literal(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r", "b", "c", ""].iter().find(|p| {
        rest.strip_prefix(**p).is_some_and(|r| {
            r.starts_with('"') || (p.ends_with('r') && r.trim_start_matches('#').starts_with('"'))
        })
    })?;
    let body = &rest[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = body.len() - body.trim_start_matches('#').len();
        let end = format!("\"{}", "#".repeat(hashes));
        let start = prefix.len() + hashes + 1;
        return Some(rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len()));
    }
    Some(prefix.len() + escaped(body, '"'))
}

/// A character literal or a lifetime. Byte characters are handled before, because of their `b`.
fn quote(rest: &str) -> (usize, bool) {
    let mut after = rest[1..].chars();
    let first = after.next();
    let second = after.next();
    match (first, second) {
        (Some('\\'), _) => (escaped(rest, '\''), true),
        (Some(c), Some('\'')) => (2 + c.len_utf8(), true),
        _ => (1 + word(&rest[1..]), false),
    }
}

/// The length of a quoted text with backslash escapes, its opening and closing quote included.
fn escaped(body: &str, quote: char) -> usize {
    let mut skip = false;
    for (at, c) in body.char_indices().skip(1) {
        match c {
            _ if skip => skip = false,
            '\\' => skip = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|t| t.text).collect()
    }

    #[test]
    fn comments_and_literals_hide_their_contents() {
        assert_eq!(texts("a /* b /* c */ d */ e // f\n g"), ["a", "e", "g"]);
        assert_eq!(
            texts(r####"x = "un\"safe" r#"un"safe"# b"q" 'u' '\''"####),
            ["x", "=", "\"", "\"", "\"", "\"", "\""]
        );
        assert_eq!(texts("fn f<'a>(x: &'a str) { 1.5; 0..3 }").len(), 20);
        assert_eq!(texts("b'x'"), ["b", "\""]);
    }

    #[test]
    fn lines_are_those_of_the_text() {
        let lines: Vec<usize> = tokens("a\n\n\"x\ny\" b\n c").iter().map(|t| t.line).collect();
        assert_eq!(lines, [1, 3, 4, 5]);
    }

    #[test]
    fn items_for_tests_are_left_out() {
        let text = "fn a() {} #[cfg(test)] mod tests { fn b() {} } #[cfg(test)] mod far; #[test] fn t() { x } fn c() {}";
        let kept: Vec<&str> = without_tests(tokens(text)).iter().map(|t| t.text).collect();
        assert_eq!(kept, ["fn", "a", "(", ")", "{", "}", "fn", "c", "(", ")", "{", "}"]);
    }
}
