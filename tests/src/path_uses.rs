//! Which paths a Rust file names: its `use` trees, spelled out, and paths written in the code.
//!
//! A path that begins with `crate`, `self`, `super` or a child module of the file is returned as an absolute path in
//! its crate. Other paths leave the crate and are dropped. This module does not check that the files exist.

use crate::lexer::{RustToken, closing, spells};

/// An absolute path within the crate, and where it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPath {
    pub path: Vec<String>,
    pub line: usize,
}

/// Every path of the crate that `tokens` in `module` name. `children` are the file's child modules.
pub fn named_paths(
    tokens: &[RustToken<'_>],
    module: &[String],
    children: &[String],
) -> Vec<NamedPath> {
    let mut reader =
        PathReader { module: module.to_vec(), children, inline: Vec::new(), out: Vec::new() };
    let mut at = 0;
    while at < tokens.len() {
        at = reader.step(tokens, at);
    }
    reader.out
}

struct PathReader<'c> {
    /// The file's module, and the inline modules around the current position.
    module: Vec<String>,
    children: &'c [String],
    /// Index of the token that closes each inline module.
    inline: Vec<usize>,
    out: Vec<NamedPath>,
}

impl PathReader<'_> {
    /// Reads the construct at `at` and returns the next position.
    fn step(&mut self, tokens: &[RustToken<'_>], at: usize) -> usize {
        if self.inline.last() == Some(&at) {
            self.inline.pop();
            self.module.pop();
        }
        let opens_module = tokens[at].text == "mod" && spells(tokens, at + 2, &["{"]);
        if opens_module {
            self.module.push(tokens[at + 1].text.to_owned());
            self.inline.push(closing(tokens, at + 2));
            return at + 3;
        }
        if tokens[at].text == "use" {
            let mut trees = Vec::new();
            let end = tree(tokens, at + 1, &mut Vec::new(), &mut trees);
            for path in trees {
                self.add(&path, tokens[at].line);
            }
            return end;
        }
        let begins = tokens[at].is_word() && (at == 0 || tokens[at - 1].text != "::");
        if begins && spells(tokens, at + 1, &["::"]) {
            return self.expression(tokens, at);
        }
        at + 1
    }

    fn expression(&mut self, tokens: &[RustToken<'_>], at: usize) -> usize {
        let mut path = vec![tokens[at].text];
        let mut end = at + 1;
        while spells(tokens, end, &["::"]) && tokens.get(end + 1).is_some_and(RustToken::is_word) {
            path.push(tokens[end + 1].text);
            end += 2;
        }
        // An exported macro is always at the crate's root, so its path names no file.
        if !spells(tokens, end, &["!"]) {
            self.add(&path, tokens[at].line);
        }
        end
    }

    fn add(&mut self, path: &[&str], line: usize) {
        if let Some(path) = self.absolute(path) {
            self.out.push(NamedPath { path, line });
        }
    }

    fn absolute(&self, path: &[&str]) -> Option<Vec<String>> {
        let (first, mut rest) = path.split_first()?;
        let mut base = match *first {
            "crate" => Vec::new(),
            "self" => self.module.clone(),
            "super" => self.module[..self.module.len().checked_sub(1)?].to_vec(),
            child if self.inline.is_empty() && self.children.iter().any(|c| c == child) => {
                let mut base = self.module.clone();
                base.push(child.to_owned());
                base
            }
            _ => return None,
        };
        while let Some(("super", deeper)) = rest.split_first().map(|(f, r)| (*f, r)) {
            base.pop();
            rest = deeper;
        }
        base.extend(rest.iter().map(|s| (*s).to_owned()));
        Some(base)
    }
}

/// Spells out the `use` tree at `at` below `prefix`; returns the index after it.
fn tree<'t>(
    tokens: &[RustToken<'t>],
    mut at: usize,
    prefix: &mut Vec<&'t str>,
    out: &mut Vec<Vec<&'t str>>,
) -> usize {
    let depth = prefix.len();
    while let Some(token) = tokens.get(at) {
        match token.text {
            "::" => at += 1,
            "{" => {
                let end = closing(tokens, at);
                at += 1;
                while at < end {
                    at = tree(tokens, at, prefix, out);
                }
                prefix.truncate(depth);
                return end + 1;
            }
            "," | ";" | "}" => {
                if prefix.len() > depth {
                    out.push(prefix.clone());
                }
                prefix.truncate(depth);
                return at + 1;
            }
            "as" => at += 2,
            // `a::{self}` means `a`, and `a::*` means everything in `a`.
            "self" if depth > 0 && prefix.len() == depth => {
                out.push(prefix.clone());
                at += 1;
            }
            "*" => {
                out.push(prefix.clone());
                prefix.truncate(depth);
                at += 1;
            }
            word => {
                prefix.push(word);
                at += 1;
            }
        }
        if at >= tokens.len() || (tokens[at].text == "}" && prefix.len() == depth) {
            break;
        }
    }
    if prefix.len() > depth {
        out.push(prefix.clone());
    }
    prefix.truncate(depth);
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::tokens;

    fn paths(text: &str) -> Vec<String> {
        let module = ["a".to_owned(), "b".to_owned()];
        let children = ["kid".to_owned()];
        let named = named_paths(&tokens(text), &module, &children);
        named.into_iter().map(|n| n.path.join("::")).collect()
    }

    #[test]
    fn use_trees_are_spelled_out() {
        assert_eq!(
            paths("use crate::x::{self, y::{Z, w as v}, u};"),
            ["x", "x::y::Z", "x::y::w", "x::u"]
        );
        assert_eq!(
            paths("pub use kid::*; use super::{c, super::d::E}; use std::fs;"),
            ["a::b::kid", "a::c", "d::E"]
        );
        assert_eq!(paths("use self::kid::F; use serde::{Serialize, de};"), ["a::b::kid::F"]);
        assert_eq!(paths("use crate::{p::{Q}, r}; fn f() {}"), ["p::Q", "r"]);
    }

    #[test]
    fn paths_in_code_count_and_macros_do_not() {
        assert_eq!(
            paths("fn f() { crate::x::go(super::y::Z); kid::run(); crate::log!(); }"),
            ["x::go", "a::y::Z", "a::b::kid::run"]
        );
    }

    #[test]
    fn an_inline_module_is_one_deeper() {
        assert_eq!(
            paths("mod m { use super::X; fn f() { self::g() } } use super::Y;"),
            ["a::b::X", "a::b::m::g", "a::Y"]
        );
    }
}
