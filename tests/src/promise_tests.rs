//! Promises in tables name tests that exist: each row of a table whose last column is headed `shown by`.
//!
//! A test is named as `path/of/file.rs::function`, or as `path/of/file` where another program runs it. A reader decides
//! whether the test proves the sentence. In the threat model every promise is in a table.

use crate::tree::{RuleBreach, SourceTree};

/// The page on which every promise must be a row of a table.
const THREAT_MODEL: &str = "docs/security.md";

const PROMISING: [&str; 4] = ["always", "never", "refused", "rejected"];

/// Rows that name no existing test, and promises of the threat model outside its tables.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        let mut promises = false;
        for (at, line) in file.text.lines().enumerate() {
            let Some(row) = cells(line) else {
                promises = false;
                if file.path == THREAT_MODEL && promising(line) {
                    let text = "a promise outside a table: move it into one, with its test";
                    out.push(RuleBreach::new(&file.path, at + 1, text.to_owned()));
                }
                continue;
            };
            match row.last().map(|cell| cell.trim()) {
                Some("shown by") => promises = true,
                Some(cell) if promises && !cell.starts_with("---") => {
                    let trouble = missing_test(tree, cell);
                    out.extend(trouble.map(|text| RuleBreach::new(&file.path, at + 1, text)));
                }
                _ => {}
            }
        }
    }
    out
}

/// The reason why a cell names no valid test; `None` if it does.
fn missing_test(tree: &SourceTree, cell: &str) -> Option<String> {
    let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    if named.is_empty() {
        return Some("this row names no test: `path/of/file.rs::function`".to_owned());
    }
    named.into_iter().find_map(|name| {
        let (path, function) = match name.split_once("::") {
            Some((path, function)) => (path, Some(function)),
            None => (name, None),
        };
        let Some(file) = tree.file(path) else {
            return Some(format!("`{path}` does not exist"));
        };
        let function = function?;
        let there = file.text.contains(&format!("fn {function}("));
        (!there).then(|| format!("`{path}` has no test `{function}`"))
    })
}

/// The cells of a table's row.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').collect())
}

fn promising(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric())
        .any(|word| PROMISING.contains(&word.to_lowercase().as_str()))
}
