//! From settings in force to what `compress` means. Everything was judged before.

use super::super::compress::{Coding, Compress, TYPES};
use super::super::section::Section;

/// A service's.
pub fn compress(section: &Section) -> Compress {
    let coding = |word: &&str| Coding::ALL.into_iter().find(|coding| coding.name() == *word);
    let written = section.texts("types");
    Compress {
        codings: section.words("codings").iter().filter_map(coding).collect(),
        types: match written.is_empty() {
            true => TYPES.map(str::to_owned).to_vec(),
            false => written.iter().map(|name| name.to_ascii_lowercase()).collect(),
        },
        min: section.number("min"),
        at_once: section.number("at-once"),
        busy: section.number("busy"),
    }
}
