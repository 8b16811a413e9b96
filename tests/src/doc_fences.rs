//! Blocks of code in doc comments: each says that it is text, because doc tests are off in every package.
//!
//! An example that should be compiled is a test of its package.

use crate::tree::{RuleBreach, SourceTree};

/// Blocks in doc comments that rustdoc would take for a test.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".rs")) {
        let mut open = false;
        for (at, line) in file.text.lines().enumerate() {
            let line = line.trim_start();
            let Some(fence) = ["//!", "///"]
                .iter()
                .find_map(|mark| line.strip_prefix(mark)?.trim().strip_prefix("```"))
            else {
                continue;
            };
            if !open && fence != "text" {
                let text = "a block of a doc comment begins with ```text: nothing compiles it";
                out.push(RuleBreach::new(&file.path, at + 1, text.to_owned()));
            }
            open = !open;
        }
    }
    out
}
