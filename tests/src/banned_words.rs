//! Words that are forbidden in the repository: unfinished work, ignored tests, and paths of a development machine.
//!
//! This file is exempt from its own rule because it must contain the words. It does not check style.

use crate::tree::{RuleBreach, SourceTree};

const HERE: &str = "tests/src/banned_words.rs";

/// In Rust code, Python and shell: work that is not finished, or a test that is not run.
const UNFINISHED: [&str; 7] =
    ["TODO", "FIXME", "XXX", "todo!", "unimplemented!", "dbg!", "#[ignore"];

/// Paths and names of development machines. No text in the repository may contain them.
const WORKSHOP: [&str; 10] = [
    "/work/",
    "/root/",
    "/home/",
    "issue #",
    "issues show",
    "shared/design",
    "shared/studies",
    "workplace",
    "HELPER",
    "Claude",
];

/// Lines that contain a forbidden word.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    // Inputs from a fuzzer are exempt.
    let says =
        |path: &str| path != HERE && path != "Cargo.lock" && !path.starts_with("fuzz/corpus/");
    for file in tree.files.iter().filter(|file| says(&file.path)) {
        for (at, line) in file.text.lines().enumerate() {
            for word in UNFINISHED.iter().filter(|word| contains_word(line, word)) {
                let text =
                    format!("`{word}`: finish it, or say what is missing where users read it");
                out.push(RuleBreach::new(&file.path, at + 1, text));
            }
            for word in WORKSHOP.iter().filter(|word| line.contains(**word)) {
                let text =
                    format!("`{word}` is of the place where this is written, not of the product");
                out.push(RuleBreach::new(&file.path, at + 1, text));
            }
        }
    }
    out
}

/// Whether `word` occurs in `line` as a whole word.
fn contains_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c == '_' || c.is_alphanumeric();
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let whole_end = !word.ends_with(|c: char| c.is_alphanumeric()) || !after.is_some_and(joins);
        !before.is_some_and(joins) && whole_end
    })
}
