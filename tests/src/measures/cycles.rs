//! Import cycles between modules: between the top modules of each crate, and between the children of each folder.
//!
//! A folder and the file beside it are one module. An import counts at the level where the paths of the two modules
//! diverge.

use std::collections::{BTreeMap, BTreeSet};

use crate::measures::is_product;
use crate::path_uses;
use crate::tree::{SourceFile, SourceTree};

/// The number of modules in cycles, by crate, at the top level and below. Crates without cycles are left out.
pub fn measure(tree: &SourceTree) -> BTreeMap<String, usize> {
    let crates: BTreeSet<&str> = tree.files.iter().filter_map(SourceFile::source_of).collect();
    let mut out = BTreeMap::new();
    for name in crates {
        let circles = in_circles(tree, name);
        let top = circles.iter().filter(|module| module.len() == 1).count();
        out.insert(format!("modules-in-circles.{name}"), top);
        out.insert(format!("modules-in-circles-below.{name}"), circles.len() - top);
    }
    out.retain(|_, count| *count > 0);
    out
}

/// The modules of a crate, at every level, that import themselves through siblings.
pub fn in_circles(tree: &SourceTree, name: &str) -> BTreeSet<Vec<String>> {
    let files: Vec<&SourceFile> =
        tree.files.iter().filter(|f| f.source_of() == Some(name) && is_product(f)).collect();
    let mut modules: BTreeSet<Vec<String>> = BTreeSet::new();
    for module in files.iter().filter_map(|file| product_module(&file.path)) {
        modules.extend((1..=module.len()).map(|level| module[..level].to_vec()));
    }
    let mut graph: ModuleGraph = BTreeMap::new();
    for file in &files {
        let Some(from) = product_module(&file.path) else { continue };
        let children = children(file, &files);
        for named in path_uses::named_paths(&file.product_tokens(), &from, &children) {
            let shared = from.iter().zip(&named.path).take_while(|(a, b)| a == b).count();
            let to = named.path.get(..=shared).filter(|to| modules.contains(*to));
            if let (Some(from), Some(to)) = (from.get(..=shared), to) {
                graph.entry(from.to_vec()).or_default().insert(to.to_vec());
            }
        }
    }
    graph.keys().filter(|from| reachable(&graph, from).contains(*from)).cloned().collect()
}

type ModuleGraph = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

fn module_of(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let stem = inside.strip_suffix(".rs").unwrap_or(inside);
    stem.split('/').map(str::to_owned).collect()
}

/// The module of a file. `None` for the root of a library or program.
fn product_module(path: &str) -> Option<Vec<String>> {
    Some(module_of(path)).filter(|module| module[0] != "lib" && module[0] != "main")
}

/// Modules right below a file's own.
fn children(file: &SourceFile, files: &[&SourceFile]) -> Vec<String> {
    let module = module_of(&file.path);
    let below = files.iter().map(|file| module_of(&file.path));
    below
        .filter(|m| m.len() > module.len() && m.starts_with(&module))
        .map(|m| m[module.len()].clone())
        .collect()
}

fn reachable(graph: &ModuleGraph, from: &[String]) -> BTreeSet<Vec<String>> {
    let mut out = BTreeSet::new();
    let mut next = vec![from.to_vec()];
    while let Some(module) = next.pop() {
        for to in graph.get(&module).into_iter().flatten() {
            if out.insert(to.clone()) {
                next.push(to.clone());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_of_folders_are_found_whichever_way_they_are_written() {
        let tree = SourceTree::from_files(&[
            ("crates/x/src/a.rs", "mod deep; fn f() { b::g() }"),
            ("crates/x/src/a/deep.rs", "use super::super::{b::{C, D}, d};"),
            ("crates/x/src/b.rs", "use crate::c::E;"),
            ("crates/x/src/c/inner.rs", "fn h() { crate::a::deep::i() }"),
            ("crates/x/src/d.rs", "#[cfg(test)] mod tests { use crate::a; }"),
        ]);
        let found: Vec<String> = in_circles(&tree, "x").iter().map(|m| m.join("::")).collect();
        assert_eq!(found, ["a", "b", "c"]);
        assert_eq!(measure(&tree)["modules-in-circles.x"], 3);
    }

    #[test]
    fn circles_among_the_children_of_a_folder_count_at_their_level() {
        let tree = SourceTree::from_files(&[
            ("crates/x/src/a/p.rs", "use super::{q::{R, S}, t};"),
            ("crates/x/src/a/q/deep.rs", "use super::super::p::P;"),
            ("crates/x/src/a/q/flat.rs", "use super::deep::D;"),
            ("crates/x/src/a/t.rs", "use crate::b::B;"),
            ("crates/x/src/b.rs", "pub struct B;"),
        ]);
        let found: Vec<String> = in_circles(&tree, "x").iter().map(|m| m.join("::")).collect();
        assert_eq!(found, ["a::p", "a::q"]);
        assert_eq!(measure(&tree), BTreeMap::from([("modules-in-circles-below.x".to_owned(), 2)]));
    }
}
