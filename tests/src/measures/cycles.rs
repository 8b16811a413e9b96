//! Top-level modules of each crate that import each other in circles; a folder and its file are one module.

use std::collections::{BTreeMap, BTreeSet};

use crate::measures::is_product;
use crate::path_uses;
use crate::tree::{SourceFile, SourceTree};

/// Modules that stand in some circle, by crate; crates without one are left out.
pub fn measure(tree: &SourceTree) -> BTreeMap<String, usize> {
    let crates: BTreeSet<&str> = tree.files.iter().filter_map(SourceFile::source_of).collect();
    let counts = crates.into_iter().map(|name| (name, in_circles(tree, name).len()));
    let some = counts.filter(|(_, count)| *count > 0);
    some.map(|(name, count)| (format!("modules-in-circles.{name}"), count)).collect()
}

/// The modules of a crate from which a path of imports leads back.
pub fn in_circles(tree: &SourceTree, name: &str) -> BTreeSet<String> {
    let files: Vec<&SourceFile> =
        tree.files.iter().filter(|f| f.source_of() == Some(name) && is_product(f)).collect();
    let tops: BTreeSet<String> = files.iter().filter_map(|file| top_of(&file.path)).collect();
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &files {
        let Some(from) = top_of(&file.path) else { continue };
        let to = graph.entry(from.clone()).or_default();
        let children = children(file, &files);
        for named in
            path_uses::named_paths(&file.product_tokens(), &module_of(&file.path), &children)
        {
            to.extend(
                named.path.into_iter().next().filter(|top| *top != from && tops.contains(top)),
            );
        }
    }
    let back = |from: &String| reachable(&graph, from).contains(from);
    graph.keys().filter(|from| back(from)).cloned().collect()
}

fn module_of(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let stem = inside.strip_suffix(".rs").unwrap_or(inside);
    stem.split('/').map(str::to_owned).collect()
}

/// The top-level module of a file; the root of a library or program has none.
fn top_of(path: &str) -> Option<String> {
    module_of(path).into_iter().next().filter(|top| top != "lib" && top != "main")
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

fn reachable(graph: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut next = vec![from.to_owned()];
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
        let found = in_circles(&tree, "x");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(measure(&tree)["modules-in-circles.x"], 3);
    }
}
