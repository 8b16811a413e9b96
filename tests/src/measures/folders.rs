//! How many files and folders lie at the root of the largest crates, where a reader begins.

use std::collections::BTreeSet;

use crate::tree::{RuleBreach, SourceTree};

/// Crates so large that their root must be an overview.
const LARGE: [&str; 2] = ["daemon", "l7"];
/// Files and folders at the root of each: as many as a reader takes in at one look.
pub const ROOT_ENTRIES: usize = 12;

/// Large crates with a crowded root; a folder and the file beside it are one entry.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let breaches = LARGE.iter().filter_map(|name| {
        let root = format!("crates/{name}/src/");
        let inside = tree.files.iter().filter_map(|file| file.path.strip_prefix(&root));
        let names: BTreeSet<&str> =
            inside.filter_map(|path| path.split(['/', '.']).next()).collect();
        let count = names.len();
        let text = format!(
            "{count} entries at the root of the crate, more than {ROOT_ENTRIES}: put them in folders by subject"
        );
        (count > ROOT_ENTRIES).then(|| RuleBreach::new(&root, 0, text))
    });
    breaches.collect()
}
