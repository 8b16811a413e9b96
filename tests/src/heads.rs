//! Every file begins with its job, `lib.rs` only declares modules, and no file is called mod.rs.
//!
//! The reviewer checks whether the sentence is true.

use crate::lexer::RustToken;
use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// Keywords that begin an item other than a module declaration.
const CONTENT: [&str; 10] =
    ["fn", "struct", "enum", "union", "trait", "impl", "const", "static", "type", "macro_rules"];

/// Rust files without an opening sentence, `lib.rs` with content, and files named mod.rs.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    for file in tree.rust() {
        if !opens_with_a_sentence(&file.text) {
            let text = "must open with `//!` and a sentence: its one job, and what it does not do";
            out.push(RuleBreach::new(&file.path, 1, text));
        }
        if file.path.ends_with("/mod.rs") {
            out.push(RuleBreach::new(
                &file.path,
                0,
                "name the file after its module, not `mod.rs`",
            ));
        }
        if file.path.ends_with("/src/lib.rs") {
            out.extend(content(file));
        }
    }
    out
}

fn opens_with_a_sentence(text: &str) -> bool {
    let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let head = head.join(" ");
    head.split_whitespace().count() >= 2 && (head.contains(". ") || head.trim_end().ends_with('.'))
}

fn content(file: &SourceFile) -> Option<RuleBreach> {
    let tokens = file.product_tokens();
    let token: Option<&RustToken<'_>> = tokens.iter().find(|token| CONTENT.contains(&token.text));
    token.map(|token| {
        let text =
            format!("`lib.rs` only declares and re-exports; move this `{}` to a file", token.text);
        RuleBreach::new(&file.path, token.line, text)
    })
}
