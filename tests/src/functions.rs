//! The functions of a source file with their lengths, in Rust, in C and in TypeScript.
//!
//! The extents come from tokens and matching braces. This module applies no limit. A closure counts towards the
//! function around it.

use crate::lexer::{self, RustToken, closing, spells};
use crate::tree::SourceFile;

/// Where a function begins, and how many lines it has to its closing brace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionExtent {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// The functions that have a body. Empty for a file in another language.
pub fn of_file(file: &SourceFile) -> Vec<FunctionExtent> {
    let is = |endings: &[&str]| endings.iter().any(|ending| file.path.ends_with(ending));
    if file.is_rust() {
        of_rust(&file.tokens())
    } else if is(&[".c", ".h"]) {
        of_c(&file.tokens())
    } else if is(&[".ts", ".tsx"]) {
        of_typescript(&lexer::tokens(&without_texts(&file.text)))
    } else {
        Vec::new()
    }
}

fn extent(tokens: &[RustToken<'_>], name: usize, open: usize) -> FunctionExtent {
    let first = tokens[name];
    let lines = tokens[closing(tokens, open)].line + 1 - first.line;
    FunctionExtent { name: first.text.to_owned(), line: first.line, lines }
}

fn of_rust(tokens: &[RustToken<'_>]) -> Vec<FunctionExtent> {
    let named = (1..tokens.len()).filter(|at| tokens[at - 1].text == "fn" && tokens[*at].is_word());
    named.filter_map(|at| Some(extent(tokens, at, rust_body(tokens, at)?))).collect()
}

/// The opening brace of the body of the function at `at`; `None` for a declaration.
fn rust_body(tokens: &[RustToken<'_>], mut at: usize) -> Option<usize> {
    while let Some(token) = tokens.get(at) {
        match token.text {
            "{" => return Some(at),
            ";" => return None,
            "(" | "[" => at = closing(tokens, at) + 1,
            _ => at += 1,
        }
    }
    None
}

/// A name, its parameters in brackets and a brace, outside every other brace.
fn of_c(tokens: &[RustToken<'_>]) -> Vec<FunctionExtent> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].text {
            "{" => at = closing(tokens, at) + 1,
            "(" => {
                let end = closing(tokens, at);
                let named = at > 0 && tokens[at - 1].is_word();
                if named && spells(tokens, end + 1, &["{"]) {
                    out.push(extent(tokens, at - 1, end + 1));
                }
                at = end + 1;
            }
            _ => at += 1,
        }
    }
    out
}

/// `function name(…) {` and `const name = (…) => {`, at any position.
fn of_typescript(tokens: &[RustToken<'_>]) -> Vec<FunctionExtent> {
    let mut out = Vec::new();
    for at in 1..tokens.len() {
        let open = match tokens[at - 1].text {
            "function" => typescript_body(tokens, at),
            "const" if spells(tokens, at + 1, &["="]) => arrow_body(tokens, at + 2),
            _ => None,
        };
        out.extend(open.map(|open| extent(tokens, at, open)));
    }
    out
}

fn typescript_body(tokens: &[RustToken<'_>], mut at: usize) -> Option<usize> {
    while let Some(token) = tokens.get(at) {
        match token.text {
            "{" if tokens[at - 1].text != ":" => return Some(at),
            ";" => return None,
            "{" | "(" | "[" => at = closing(tokens, at) + 1,
            _ => at += 1,
        }
    }
    None
}

/// The brace or bracket after the arrow of an arrow function at `at`.
fn arrow_body(tokens: &[RustToken<'_>], at: usize) -> Option<usize> {
    let parameters = if spells(tokens, at, &["async"]) { at + 1 } else { at };
    if !spells(tokens, parameters, &["("]) {
        return None;
    }
    let after = closing(tokens, parameters) + 1;
    let arrow = (after..tokens.len())
        .take_while(|at| tokens[*at].text != ";")
        .find(|at| spells(tokens, *at, &["=", ">"]))?;
    tokens.get(arrow + 2).filter(|body| ["{", "("].contains(&body.text)).map(|_| arrow + 2)
}

/// TypeScript with blanks in place of comments and of texts in quotes; the lines stay.
fn without_texts(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hidden = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '`' => rest[1..].find('`').map_or(rest.len(), |end| end + 2),
            // An apostrophe in the text of an element has no closing quote on its line.
            '"' | '\'' => {
                let line = rest.split('\n').next().unwrap_or(rest);
                line[1..].find(first).map_or(1, |end| end + 2)
            }
            _ => 0,
        };
        if hidden == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.extend(rest[..hidden].chars().map(|c| if c == '\n' { c } else { ' ' }));
            rest = &rest[hidden..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        of_file(&file).into_iter().map(|f| format!("{} {} {}", f.name, f.line, f.lines)).collect()
    }

    #[test]
    fn functions_of_rust_have_a_body() {
        assert_eq!(found("a.rs", "trait T { fn a(); }\nfn b() -> [u8; 2] {\n}"), ["b 2 2"]);
    }

    #[test]
    fn functions_of_c_are_no_branches_and_no_structs() {
        let text =
            "struct s { int a; };\nSEC(\"xdp\") int f(int a)\n{\nif (a) { b(); }\n}\nint g(int a);";
        assert_eq!(found("a.c", text), ["f 2 4"]);
    }

    #[test]
    fn functions_of_typescript_are_named_either_way() {
        let text = "export function F(p: { a: A }) {\n// don't {\nreturn <b>it's {`{`}</b>;\n}\n\
                    const g = (x: X): Y => {\n};\nconst h = 1;";
        assert_eq!(found("a.tsx", text), ["F 1 4", "g 5 2"]);
    }
}
