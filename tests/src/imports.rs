//! No import loops between the files of a crate.
//!
//! A graph of files by the paths they name (`uses`), and its strongly connected components: each must be a single
//! file. An import that goes through a re-export leads to the file that re-exports, so importing from the crate's
//! root where a sibling defines the thing shows up as the loop that it is. Declaring a module (`mod x;`) is no
//! import. Code under `cfg(test)` does not count.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{File, Offence, Tree};
use crate::uses;

/// One offence for each loop, naming its files and one import that closes it.
pub fn offences(tree: &Tree) -> Vec<Offence> {
    let crates: BTreeSet<&str> = tree.files.iter().filter_map(File::source_of).collect();
    crates.into_iter().flat_map(|name| offences_of_crate(tree, name)).collect()
}

type Graph<'t> = BTreeMap<&'t str, BTreeMap<&'t str, usize>>;

fn offences_of_crate(tree: &Tree, name: &str) -> Vec<Offence> {
    let files: Vec<&File> = tree.files.iter().filter(|f| f.source_of() == Some(name)).collect();
    let modules: BTreeMap<Vec<String>, &str> =
        files.iter().map(|file| (module_of(&file.path), file.path.as_str())).collect();
    let mut graph: Graph<'_> = BTreeMap::new();
    for file in &files {
        graph.insert(&file.path, imports(file, &modules));
    }
    let mut out = Vec::new();
    for component in components(&graph) {
        let first = component[0];
        let inside = |to: &&str| component.contains(to);
        let closing = component.iter().find_map(|from| {
            graph[from].iter().find(|(to, _)| inside(to)).map(|(to, line)| (*from, *to, *line))
        });
        let (path, to, line) = closing.unwrap_or((first, first, 0));
        let ring = component.join(", ");
        out.push(Offence::new(
            path,
            line,
            format!("imports `{to}` and is part of a loop: {ring}; import from the defining file, or move what both need"),
        ));
    }
    out
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

/// The files that `file` imports, each with the first line that does.
fn imports<'t>(file: &File, modules: &BTreeMap<Vec<String>, &'t str>) -> BTreeMap<&'t str, usize> {
    let module = module_of(&file.path);
    let children: Vec<String> = modules
        .keys()
        .filter(|m| m.len() == module.len() + 1 && m.starts_with(&module))
        .filter_map(|m| m.last().cloned())
        .collect();
    let mut out = BTreeMap::new();
    for named in uses::named(&file.product_tokens(), &module, &children) {
        let target = (0..=named.path.len()).rev().find_map(|n| modules.get(&named.path[..n]));
        if let Some(target) = target.filter(|target| **target != file.path) {
            out.entry(*target).or_insert(named.line);
        }
    }
    out
}

/// Strongly connected components of more than one file: files that reach each other.
fn components<'t>(graph: &Graph<'t>) -> Vec<Vec<&'t str>> {
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

fn reachable<'t>(graph: &Graph<'t>, from: &'t str) -> BTreeSet<&'t str> {
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
