//! Relative links in Markdown lead to existing files, and so do the paths in the repository's maps.
//!
//! Links to the web are not followed. Anchors are checked in [`crate::site_pages`].

use std::path::{Component, Path};

use crate::tree::{RuleBreach, SourceTree};

/// A relative link in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLink<'t> {
    /// The line, from 1.
    pub line: usize,
    /// The target as it is written, without the anchor; empty for a place of the same page.
    pub path: &'t str,
    /// What stands after `#`.
    pub anchor: Option<&'t str>,
}

/// Relative links to files that do not exist.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for link in links_of(&file.text).into_iter().filter(|link| !link.path.is_empty()) {
            if !leads_somewhere(tree, &resolve(&file.path, link.path)) {
                let text = format!("the link to `{}` leads nowhere", link.path);
                out.push(RuleBreach::new(&file.path, link.line, text));
            }
        }
    }
    out
}

/// The path that a link of a page leads to.
pub fn resolve(page: &str, path: &str) -> String {
    normal(&Path::new(page).parent().unwrap_or(Path::new("")).join(path))
}

/// Pages that serve as a map of the source.
const MAPS: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/glossary.md"];
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

/// The relative links `[text](path#anchor)` of a page.
pub fn links_of(page: &str) -> Vec<PageLink<'_>> {
    let numbered = page.lines().enumerate();
    numbered.flat_map(|(at, line)| targets_of(line, at + 1)).collect()
}

fn targets_of(text: &str, line: usize) -> Vec<PageLink<'_>> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets
        .map(|(target, _)| target)
        .filter(|target| !target.is_empty() && !target.contains(':'))
        .map(|target| match target.split_once('#') {
            Some((path, anchor)) => PageLink { line, path, anchor: Some(anchor) },
            None => PageLink { line, path: target, anchor: None },
        })
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
