//! How many files and folders lie at the root of the largest crates, where a reader begins.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::SourceTree;

/// Crates whose root was crowded.
const CROWDED: [&str; 2] = ["daemon", "l7"];

/// Names at the root of each; a folder and the file beside it are one.
pub fn measure(tree: &SourceTree) -> BTreeMap<String, usize> {
    let counts = CROWDED.map(|name| {
        let root = format!("crates/{name}/src/");
        let inside = tree.files.iter().filter_map(|file| file.path.strip_prefix(&root));
        let names: BTreeSet<&str> =
            inside.filter_map(|path| path.split(['/', '.']).next()).collect();
        (format!("entries-at-the-root.{name}"), names.len())
    });
    BTreeMap::from(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_its_file_are_one_entry() {
        let paths = ["l7/src/lib.rs", "l7/src/tls.rs", "l7/src/tls/a.rs", "l7/tests/b.rs"];
        let paths = paths.map(|path| format!("crates/{path}"));
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        assert_eq!(measure(&SourceTree::from_files(&files))["entries-at-the-root.l7"], 2);
    }
}
