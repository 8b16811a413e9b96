//! No import loops between the files of a crate.
//!
//! The rule builds a graph of files from the paths they name (`uses`). Each strongly connected component must be a
//! single file. An import through a re-export leads to the re-exporting file. Importing from the crate's root what a
//! sibling defines is therefore reported as a cycle. Declaring a module (`mod x;`) is not an import. Code under
//! `cfg(test)` does not count.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::path_uses;
use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// One breach for each set of files that import each other in a cycle.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let crates: BTreeSet<&str> = tree.files.iter().filter_map(SourceFile::source_of).collect();
    crates.into_iter().flat_map(|name| offences_of_crate(tree, name)).collect()
}

type ImportGraph<'t> = BTreeMap<&'t str, BTreeMap<&'t str, usize>>;

fn offences_of_crate(tree: &SourceTree, name: &str) -> Vec<RuleBreach> {
    let files: Vec<&SourceFile> =
        tree.files.iter().filter(|f| f.source_of() == Some(name)).collect();
    let modules: BTreeMap<Vec<String>, &str> =
        files.iter().map(|file| (module_of(&file.path), file.path.as_str())).collect();
    let mut graph: ImportGraph<'_> = BTreeMap::new();
    for file in &files {
        graph.insert(&file.path, imports(file, &modules));
    }
    components(&graph).iter().map(|component| describe(&graph, component)).collect()
}

/// Describes a shortest cycle, and the number of files in the component.
fn describe(graph: &ImportGraph<'_>, component: &[&str]) -> RuleBreach {
    let ways = component.iter().filter_map(|from| way_around(graph, from));
    let ring = ways.min_by_key(Vec::len).unwrap_or_default();
    let short = |path: &str| path.split("/src/").nth(1).unwrap_or(path).to_owned();
    let files: Vec<String> = ring.iter().map(|file| short(file)).collect();
    let from = ring.first().copied().unwrap_or("");
    let to = ring.get(1).copied().unwrap_or("");
    let line = graph.get(from).and_then(|imports| imports.get(to)).copied().unwrap_or(0);
    let text = format!(
        "imports in a circle: {} ({} files hang together); import from the defining file, or move what both need",
        files.join(" → "),
        component.len(),
    );
    RuleBreach::new(from, line, text)
}

/// A shortest path from a file back to itself, both ends included.
fn way_around<'t>(graph: &ImportGraph<'t>, start: &'t str) -> Option<Vec<&'t str>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut next = VecDeque::from([start]);
    while let Some(file) = next.pop_front() {
        for to in graph.get(file)?.keys() {
            if *to == start {
                let mut way = vec![start, file];
                while let Some(before) = came_from.get(way[way.len() - 1]) {
                    way.push(before);
                }
                if way[way.len() - 1] != start {
                    way.push(start);
                }
                way.reverse();
                return Some(way);
            }
            if !came_from.contains_key(to) {
                came_from.insert(to, file);
                next.push_back(to);
            }
        }
    }
    None
}

/// The module that a source file is: empty for a crate's root.
fn module_of(path: &str) -> Vec<String> {
    let inside = path.split("/src/").nth(1).unwrap_or(path);
    let stem = inside.strip_suffix(".rs").unwrap_or(inside);
    if stem == "lib" || stem == "main" {
        return Vec::new();
    }
    stem.split('/').map(str::to_owned).collect()
}

/// The files that `file` imports, each with the line of its first import.
fn imports<'t>(
    file: &SourceFile,
    modules: &BTreeMap<Vec<String>, &'t str>,
) -> BTreeMap<&'t str, usize> {
    let module = module_of(&file.path);
    let children: Vec<String> = modules
        .keys()
        .filter(|m| m.len() == module.len() + 1 && m.starts_with(&module))
        .filter_map(|m| m.last().cloned())
        .collect();
    let mut out = BTreeMap::new();
    for named in path_uses::named_paths(&file.product_tokens(), &module, &children) {
        let target = (0..=named.path.len()).rev().find_map(|n| modules.get(&named.path[..n]));
        if let Some(target) = target.filter(|target| **target != file.path) {
            out.entry(*target).or_insert(named.line);
        }
    }
    out
}

/// Strongly connected components of more than one file: files that reach each other.
fn components<'t>(graph: &ImportGraph<'t>) -> Vec<Vec<&'t str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|from| (*from, reachable(graph, from))).collect();
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for from in graph.keys() {
        let both = |to: &&&str| reach[*from].contains(**to) && reach[**to].contains(*from);
        let component: Vec<&str> = graph.keys().filter(both).copied().collect();
        if component.len() > 1 && component.iter().all(|file| seen.insert(*file)) {
            out.push(component);
        }
    }
    out
}

fn reachable<'t>(graph: &ImportGraph<'t>, from: &'t str) -> BTreeSet<&'t str> {
    let mut out = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        for to in graph.get(file).into_iter().flat_map(BTreeMap::keys) {
            if out.insert(*to) {
                next.push(*to);
            }
        }
    }
    out
}
