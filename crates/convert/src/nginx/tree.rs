//! nginx's grammar: words, `;`, blocks, quotes and comments, and the files in the output of `nginx -T`.

use std::collections::HashMap;

use crate::notes::ConversionNotes;

/// Deeper than any configuration: bounds the recursion on hostile input.
const DEEP: usize = 24;
/// Directives of one file, with its includes.
/// A file of the largest size with short lines.
const MOST: usize = 100_000;
/// Includes within includes: files that include each other end here.
const INCLUDED: usize = 8;

/// A directive, simple or with a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directive {
    pub name: String,
    pub args: Vec<String>,
    pub block: Option<Vec<Directive>>,
    pub line: u32,
}

impl Directive {
    /// An argument by its position, or an empty string.
    pub fn word(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }

    /// The directives in its block.
    pub fn inner(&self) -> &[Directive] {
        self.block.as_deref().unwrap_or(&[])
    }

    /// The line without its block, for messages.
    pub fn text(&self) -> String {
        let mut text = self.name.clone();
        for arg in &self.args {
            text.push(' ');
            text.push_str(arg);
        }
        text
    }
}

/// Everything, with includes followed as far as they are there.
pub fn read(text: &str, notes: &mut ConversionNotes) -> Vec<Directive> {
    let parts = files(text);
    let mut read: HashMap<String, Vec<Directive>> = HashMap::new();
    let mut main = Vec::new();
    for (at, (name, first, text)) in parts.into_iter().enumerate() {
        let directives = Parser::new(text, first).block(0, notes);
        if at == 0 {
            main = directives;
        } else {
            read.insert(name, directives);
        }
    }
    let mut left = MOST;
    include(main, &read, 0, &mut left, notes)
}

/// The files in the text: name, first line, text.
fn files(text: &str) -> Vec<(String, u32, String)> {
    let mut out = vec![(String::new(), 1, String::new())];
    for (line, number) in text.lines().zip(1u32..) {
        let name =
            line.strip_prefix("# configuration file ").and_then(|rest| rest.strip_suffix(':'));
        match name {
            Some(name) if out.len() == 1 && out[0].2.trim().is_empty() => {
                out[0] = (name.to_owned(), number, String::from("\n"));
            }
            Some(name) => out.push((name.to_owned(), number, String::from("\n"))),
            None => {
                let Some((_, _, part)) = out.last_mut() else { continue };
                part.push_str(line);
                part.push('\n');
            }
        }
    }
    out
}

fn include(
    list: Vec<Directive>,
    files: &HashMap<String, Vec<Directive>>,
    depth: usize,
    left: &mut usize,
    notes: &mut ConversionNotes,
) -> Vec<Directive> {
    let mut out = Vec::new();
    for mut directive in list {
        if *left == 0 {
            notes.left_out(
                directive.line,
                &directive.text(),
                "the file with its includes has too many directives",
                "split it",
            );
            return out;
        }
        *left -= 1;
        if directive.name == "include" && depth < INCLUDED {
            let mut found: Vec<&String> =
                files.keys().filter(|name| matches_include(directive.word(0), name)).collect();
            found.sort();
            // MIME types, modules, and parameters of protocols that Steelyard does not support.
            let usual = ["mime.types", "modules-enabled", "fastcgi", "uwsgi_params", "scgi_params"];
            if found.is_empty() && !usual.iter().any(|one| directive.word(0).contains(one)) {
                notes.left_out(
                    directive.line,
                    &directive.text(),
                    "the included file is not here, and what it sets is missing: fields, access, TLS",
                    "convert what `nginx -T` prints",
                );
            }
            for name in found {
                let inner = files.get(name).cloned().unwrap_or_default();
                out.extend(include(inner, files, depth + 1, left, notes));
            }
            continue;
        }
        directive.block = directive.block.map(|block| include(block, files, depth, left, notes));
        out.push(directive);
    }
    out
}

/// Whether a path is meant by an include: `*` within its last part, or a path relative to nginx's folder.
fn matches_include(pattern: &str, name: &str) -> bool {
    let name =
        if pattern.starts_with('/') { name } else { name.rsplit("/nginx/").next().unwrap_or(name) };
    match pattern.split_once('*') {
        Some((before, after)) => {
            name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
                && !name[before.len()..name.len() - after.len()].contains('/')
        }
        None => name == pattern,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum NginxToken {
    Word(String),
    Open,
    Close,
    End,
}

struct Parser {
    chars: std::vec::IntoIter<char>,
    peeked: Option<char>,
    line: u32,
    count: usize,
    /// The line of a quote that is never closed.
    open_quote: Option<u32>,
}

impl Parser {
    fn new(text: String, line: u32) -> Parser {
        Parser {
            chars: text.chars().collect::<Vec<_>>().into_iter(),
            peeked: None,
            line,
            count: 0,
            open_quote: None,
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peeked.take().or_else(|| self.chars.next());
        if c == Some('\n') {
            self.line += 1;
        }
        c
    }

    fn peek(&mut self) -> Option<char> {
        if self.peeked.is_none() {
            self.peeked = self.chars.next();
        }
        self.peeked
    }

    fn token(&mut self) -> Option<NginxToken> {
        loop {
            match self.next()? {
                c if c.is_whitespace() => {}
                '#' => while !matches!(self.next(), None | Some('\n')) {},
                ';' => return Some(NginxToken::End),
                '{' => return Some(NginxToken::Open),
                '}' => return Some(NginxToken::Close),
                '"' => return Some(NginxToken::Word(self.quoted('"'))),
                '\'' => return Some(NginxToken::Word(self.quoted('\''))),
                c => return Some(NginxToken::Word(self.bare_word(c))),
            }
        }
    }

    fn quoted(&mut self, quote: char) -> String {
        let mut out = String::new();
        let begin = self.line;
        loop {
            let Some(c) = self.next() else {
                self.open_quote = Some(begin);
                break;
            };
            match c {
                c if c == quote => break,
                '\\' => match self.next() {
                    Some(next) if next == quote || next == '\\' => out.push(next),
                    Some(next) => out.extend(['\\', next]),
                    None => {}
                },
                c => out.push(c),
            }
        }
        out
    }

    /// Up to a space, `;` or `{`; `${name}` and quantifiers of an expression belong to it.
    fn bare_word(&mut self, first: char) -> String {
        let mut out = String::from(first);
        if first == '\\' {
            out.extend(self.next());
        }
        while let Some(c) = self.peek() {
            if c.is_whitespace() || c == ';' || (c == '{' && !out.ends_with('$')) {
                break;
            }
            let variable = c == '{';
            out.extend(self.next());
            if c == '\\' {
                out.extend(self.next());
            }
            while variable && !out.ends_with('}') {
                match self.next() {
                    Some(c) => out.push(c),
                    None => return out,
                }
            }
        }
        out
    }

    fn block(&mut self, depth: usize, notes: &mut ConversionNotes) -> Vec<Directive> {
        let mut out = Vec::new();
        let mut words: Vec<String> = Vec::new();
        let mut line = self.line;
        while let Some(token) = self.token() {
            let block = match token {
                NginxToken::Word(word) => {
                    if words.is_empty() {
                        line = self.line;
                    }
                    words.push(word);
                    continue;
                }
                NginxToken::Close if depth > 0 => return out,
                NginxToken::Close => {
                    notes.left_out(self.line, "}", "it closes nothing", "");
                    continue;
                }
                NginxToken::End => None,
                NginxToken::Open if depth >= DEEP => {
                    notes.left_out(self.line, "{", "blocks nest too deep", "");
                    self.skip();
                    words.clear();
                    continue;
                }
                NginxToken::Open
                    if words.last().is_some_and(|word| word.contains("_by_lua"))
                        || words.first().is_some_and(|word| word.contains("_by_lua")) =>
                {
                    self.skip();
                    Some(Vec::new())
                }
                NginxToken::Open => Some(self.block(depth + 1, notes)),
            };
            let mut all = std::mem::take(&mut words).into_iter();
            self.count += 1;
            if let Some(name) = all.next().filter(|_| self.count <= MOST) {
                out.push(Directive { name, args: all.collect(), block, line });
            }
        }
        if let Some(begin) = self.open_quote.take() {
            notes.unreadable(begin, &words.join(" "), "a quote is not closed", "the whole file");
        } else if depth > 0 {
            notes.unreadable(line, "{", "a block is not closed", "the whole file");
        } else if !words.is_empty() {
            notes.unreadable(line, &words.join(" "), "its `;` is missing", "the whole file");
        }
        out
    }

    /// Skips to the end of a block.
    fn skip(&mut self) {
        let mut depth = 1;
        while depth > 0 {
            match self.token() {
                Some(NginxToken::Open) => depth += 1,
                Some(NginxToken::Close) => depth -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<String> {
        let mut notes = ConversionNotes::new("x");
        read(text, &mut notes)
            .iter()
            .map(|one| format!("{} {}@{}", one.text(), one.inner().len(), one.line))
            .collect()
    }

    #[test]
    fn words_blocks_and_quotes_are_read() {
        for (text, expected) in [
            ("a b; # c;\nd 'e f' \"g\\\"\";", vec!["a b 0@1", "d e f g\" 0@2"]),
            ("s { a; b { c; } }", vec!["s 2@1"]),
            ("r ^/a\\.b$ ${x}y;", vec!["r ^/a\\.b$ ${x}y 0@1"]),
            ("a\n", vec![]),
            ("}}}", vec![]),
            ("a {", vec!["a 0@1"]),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn includes_are_followed_in_a_dump() {
        let dump = "# configuration file /etc/nginx/nginx.conf:\nhttp { include /etc/nginx/s/*; }\n\
                    # configuration file /etc/nginx/s/a:\nserver { listen 80; }\n";
        assert_eq!(parsed(dump), ["http 1@2"]);
        let long = "include x; ".repeat(3);
        assert!(parsed(&long).is_empty());
    }
}
