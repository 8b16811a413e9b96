//! The number of files and folders at the root of the largest crates, where readers start.

use std::collections::BTreeSet;

use crate::tree::{RuleBreach, SourceTree};

/// Large crates, whose root must give an overview.
const LARGE: [&str; 2] = ["daemon", "l7"];
/// The limit of files and folders at each root, for an overview.
pub const ROOT_ENTRIES: usize = 12;

/// Large crates with too many root entries. A folder and the file beside it count as one entry.
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
