//! Links in Markdown to files of this repository lead somewhere.
//!
//! Links to the web are not followed, and anchors within a page are not checked.

use std::path::{Component, Path};

use crate::tree::{RuleBreach, SourceTree};

/// Relative links to files that do not exist.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for (at, line) in file.text.lines().enumerate() {
            for target in targets(line) {
                let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
                let path = normal(&folder.join(target));
                let prefix = format!("{path}/");
                let there =
                    |f: &crate::tree::SourceFile| f.path == path || f.path.starts_with(&prefix);
                if !tree.files.iter().any(there) {
                    let text = format!("the link to `{target}` leads nowhere");
                    out.push(RuleBreach::new(&file.path, at + 1, text));
                }
            }
        }
    }
    out
}

/// The targets of `[text](target)` in a line, without those that leave the repository.
fn targets(line: &str) -> Vec<&str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split('#').next().unwrap_or(target))
        .filter(|target| !target.is_empty() && !target.contains(':'))
        .collect()
}

fn normal(path: &Path) -> String {
    let mut out: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::Normal(name) => out.push(name.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    out.join("/")
}
