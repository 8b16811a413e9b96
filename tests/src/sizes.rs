//! Files have at most 400 lines and functions at most 70, with a ratchet for older, longer ones.
//!
//! The rule covers functions in Rust, in C and in the page's TypeScript. A function that only calls one step after
//! another may have 100 lines. The ratchet (`tests/ratchet.toml`) lists it in `shells`, with the reason beside it. The
//! ratchet names each other exception with its length. An exception that grew is a breach, and so is one that shrank
//! until its entry is lowered.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::functions;
use crate::tree::{RuleBreach, SourceTree};

/// The ratchet's path in the repository.
pub const RATCHET: &str = "tests/ratchet.toml";
/// Lines of a source file.
pub const FILE_LINES: usize = 400;
/// Lines of a function, from its name to its closing brace.
pub const FUNCTION_LINES: usize = 70;
/// Lines of a function that the ratchet lists as a sequential shell.
pub const SHELL_LINES: usize = 100;

/// File name endings to which the limit applies.
const SOURCES: [&str; 10] =
    [".rs", ".py", ".c", ".h", ".sh", ".ts", ".tsx", ".js", ".css", ".html"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SizeRatchet {
    files: BTreeMap<String, usize>,
    functions: BTreeMap<String, usize>,
    /// Sequential shells, as `path::function`.
    shells: Vec<String>,
}

/// Files and functions that are too long, and entries of the ratchet that are out of date.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let text = tree.file(RATCHET).map_or("", |file| &file.text);
    let ratchet: SizeRatchet = match toml::from_str(text) {
        Ok(ratchet) => ratchet,
        Err(error) => return vec![RuleBreach::new(RATCHET, 0, format!("cannot be read: {error}"))],
    };
    let files = tree
        .files
        .iter()
        .filter(|file| SOURCES.iter().any(|ending| file.path.ends_with(ending)))
        .map(|file| ItemLength {
            key: file.path.clone(),
            line: 0,
            lines: file.text.lines().count(),
        });
    let functions = tree.files.iter().flat_map(|file| {
        functions::of_file(file).into_iter().map(move |function| ItemLength {
            key: format!("{}::{}", file.path, function.name),
            line: function.line,
            lines: function.lines,
        })
    });
    let (shells, functions): (Vec<ItemLength>, Vec<ItemLength>) =
        functions.partition(|function| ratchet.shells.contains(&function.key));
    let mut out = needless_shells(&ratchet.shells, &shells);
    out.extend(compare_with_limit("file", FILE_LINES, files, &ratchet.files));
    let functions = functions.into_iter();
    out.extend(compare_with_limit("function", FUNCTION_LINES, functions, &ratchet.functions));
    out.extend(compare_with_limit("shell", SHELL_LINES, shells.into_iter(), &BTreeMap::new()));
    out
}

/// Entries of the list that no function needs any longer.
fn needless_shells(listed: &[String], shells: &[ItemLength]) -> Vec<RuleBreach> {
    let needed = |key: &&String| shells.iter().any(|s| s.key == **key && s.lines > FUNCTION_LINES);
    let needless = listed.iter().filter(|key| !needed(key));
    needless
        .map(|key| RuleBreach::new(RATCHET, 0, format!("`{key}` is no long shell: remove it")))
        .collect()
}

struct ItemLength {
    key: String,
    line: usize,
    lines: usize,
}

fn compare_with_limit(
    what: &str,
    limit: usize,
    found: impl Iterator<Item = ItemLength>,
    exceptions: &BTreeMap<String, usize>,
) -> Vec<RuleBreach> {
    let mut longest: BTreeMap<String, ItemLength> = BTreeMap::new();
    for length in found {
        let known = longest.get(&length.key).map_or(0, |known| known.lines);
        if length.lines > known {
            longest.insert(length.key.clone(), length);
        }
    }
    let mut out = Vec::new();
    for ItemLength { key, line, lines } in longest.values() {
        let path = key.split("::").next().unwrap_or(key);
        let text = match exceptions.get(key) {
            None if *lines > limit => {
                format!("{what} `{key}` has {lines} lines, more than {limit}: split it")
            }
            Some(before) if lines > before => {
                format!("{what} `{key}` grew from {before} to {lines} lines: it may only shrink")
            }
            _ => continue,
        };
        out.push(RuleBreach::new(path, *line, text));
    }
    for (key, before) in exceptions {
        let now = longest.get(key).map_or(0, |length| length.lines);
        if now <= limit {
            out.push(RuleBreach::new(RATCHET, 0, format!("`{key}` needs no exception: remove it")));
        } else if now < *before {
            out.push(RuleBreach::new(
                RATCHET,
                0,
                format!("`{key}` shrank to {now}: lower its entry"),
            ));
        }
    }
    out
}
