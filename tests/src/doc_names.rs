//! Names in backticks in the comments that document modules and items are names of something that exists.
//!
//! A name is a path with `::`, a file that ends in `.rs`, or a word in snake case or camel case. The name exists when
//! each of its words occurs in code or in a literal. Single words and names in capitals are left out, because they
//! often belong to another program.

use std::collections::{BTreeMap, BTreeSet};

use crate::lexer;
use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// How many such names there are, for the ratchet.
pub fn measure(tree: &SourceTree) -> BTreeMap<String, usize> {
    let count = offences(tree).len();
    let heads = heads(tree).len();
    let mut out = BTreeMap::from([
        ("names-in-heads-that-do-not-exist".to_owned(), heads),
        ("names-in-docs-that-do-not-exist".to_owned(), count - heads),
    ]);
    out.retain(|_, count| *count > 0);
    out
}

/// Names in the head of a module that do not exist.
pub fn heads(tree: &SourceTree) -> Vec<RuleBreach> {
    unknown_names(tree, &["//!"])
}

/// Names in any documenting comment that do not exist.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    unknown_names(tree, &["//!", "///"])
}

fn unknown_names(tree: &SourceTree, marks: &[&str]) -> Vec<RuleBreach> {
    let known = known_words(tree);
    let mut out = Vec::new();
    for file in tree
        .rust()
        .filter(|file| file.path.starts_with("crates/") || file.path.starts_with("tests/"))
    {
        for (at, line) in file.text.lines().enumerate() {
            let Some(comment) = marks.iter().find_map(|mark| line.trim_start().strip_prefix(mark))
            else {
                continue;
            };
            let names = comment.split('`').skip(1).step_by(2).map(bare);
            for name in names.filter(|name| is_name(name) && !exists(tree, &known, name)) {
                let text = format!("nothing is named `{name}`: say what it is called");
                out.push(RuleBreach::new(&file.path, at + 1, text));
            }
        }
    }
    out
}

fn known_words(tree: &SourceTree) -> BTreeSet<&str> {
    let is = |file: &&SourceFile, endings: &[&str]| endings.iter().any(|e| file.path.ends_with(e));
    let code = tree.files.iter().filter(|file| is(file, &[".rs", ".c", ".h"]));
    let other = tree.files.iter().filter(|file| is(file, &[".ts", ".tsx", ".py", ".toml"]));
    let other = other.flat_map(|file| file.text.split(|c: char| c != '_' && !c.is_alphanumeric()));
    code.flat_map(|file| lexer::words(&file.text)).chain(other).collect()
}

/// A call or a macro by its name alone.
fn bare(name: &str) -> &str {
    name.trim_end_matches("()").trim_end_matches('!')
}

fn is_name(name: &str) -> bool {
    if let Some(stem) = name.strip_suffix(".rs") {
        return !stem.is_empty()
            && stem.chars().all(|c| c == '_' || c == '/' || c.is_alphanumeric());
    }
    let words: Vec<&str> = name.split("::").collect();
    let is_word = |word: &&str| {
        word.starts_with(|c: char| c == '_' || c.is_alphabetic())
            && word.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
    };
    words.iter().all(is_word) && (words.len() > 1 || is_snake(name) || is_camel(name))
}

fn is_snake(word: &str) -> bool {
    word.contains('_') && !word.contains(|c: char| c.is_uppercase())
}

fn is_camel(word: &str) -> bool {
    let capitals = word.chars().filter(|c| c.is_uppercase()).count();
    let small = word.contains(|c: char| c.is_lowercase());
    word.starts_with(|c: char| c.is_uppercase()) && capitals > 1 && small && !word.contains('_')
}

fn exists(tree: &SourceTree, known: &BTreeSet<&str>, name: &str) -> bool {
    if name.ends_with(".rs") {
        let below = format!("/{name}");
        return tree.rust().any(|file| file.path == name || file.path.ends_with(&below));
    }
    name.split("::").all(|word| known.contains(word))
}
