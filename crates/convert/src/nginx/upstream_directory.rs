//! The `upstream` blocks of a file by name.

use std::collections::HashMap;

use super::tree::Directive;

/// `upstream` blocks, which nginx finds without regard to the case of letters.
pub struct UpstreamDirectory<'t> {
    by_name: HashMap<String, &'t Directive>,
}

impl<'t> UpstreamDirectory<'t> {
    /// The blocks by name. Of several with one name the first counts.
    pub fn new(blocks: &[&'t Directive]) -> UpstreamDirectory<'t> {
        let mut by_name = HashMap::with_capacity(blocks.len());
        for block in blocks {
            by_name.entry(block.word(0).to_ascii_lowercase()).or_insert(*block);
        }
        UpstreamDirectory { by_name }
    }

    /// The block that a target names, if any.
    pub fn find(&self, target: &str) -> Option<&'t Directive> {
        self.by_name.get(&target.to_ascii_lowercase()).copied()
    }
}
