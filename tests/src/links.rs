//! Relative links in Markdown lead to existing files, and so do the paths in the repository's maps.
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
                if !leads_somewhere(tree, &normal(&folder.join(target))) {
                    let text = format!("the link to `{target}` leads nowhere");
                    out.push(RuleBreach::new(&file.path, at + 1, text));
                }
            }
        }
    }
    out
}

/// Pages that serve as a map of the source.
const MAPS: [&str; 2] = ["ARCHITECTURE.md", "docs/glossary.md"];
/// How a path in backticks begins.
const FOLDERS: [&str; 3] = ["crates/", "tests/", "docs/"];

/// Paths in backticks on the maps, with every choice in braces, that do not exist.
pub fn path_offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    for file in MAPS.iter().filter_map(|page| tree.file(page)) {
        for (at, line) in file.text.lines().enumerate() {
            let named = line.split('`').skip(1).step_by(2);
            let named = named.filter(|name| FOLDERS.iter().any(|folder| name.starts_with(folder)));
            let paths = named.map(|name| name.split("::").next().unwrap_or(name)).flat_map(choices);
            for path in paths.filter(|path| !path.contains(['*', '<', ' '])) {
                if !leads_somewhere(tree, path.trim_end_matches('/')) {
                    let text = format!("the path `{path}` leads nowhere");
                    out.push(RuleBreach::new(&file.path, at + 1, text));
                }
            }
        }
    }
    out
}

/// Expands the alternatives in braces of a path.
fn choices(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let Some((inside, after)) = rest.split_once('}') else { return vec![path.to_owned()] };
    let spelled = inside.split(',').map(|choice| format!("{before}{}{after}", choice.trim()));
    spelled.flat_map(|path| choices(&path)).collect()
}

/// Whether a file or a folder of the tree has this path.
fn leads_somewhere(tree: &SourceTree, path: &str) -> bool {
    let prefix = format!("{path}/");
    tree.files.iter().any(|file| file.path == path || file.path.starts_with(&prefix))
}

/// The targets of `[text](target)` in a line, without external links.
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
