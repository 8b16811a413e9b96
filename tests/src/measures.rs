//! Measures of the code's naming and structure, with a ratchet: a value may only fall.
//!
//! `tests/ratchet.toml` has the current values, in `[measures]`. A value that is worse is a breach. A value that is
//! more than a hundredth better is a breach too until its entry is lowered. Otherwise the next change could lose the
//! improvement.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::doc_names;
use crate::sizes::RATCHET;
use crate::tree::{RuleBreach, SourceFile, SourceTree};

pub mod comments;
pub mod cycles;
pub mod folders;
pub mod nouns;
pub mod tuples;
pub mod types;

#[derive(Debug, Default, Deserialize)]
struct MeasureRatchet {
    #[serde(default)]
    measures: BTreeMap<String, usize>,
}

/// Everything that is measured, by its name in the ratchet; smaller is better.
pub fn measure_tree(tree: &SourceTree) -> BTreeMap<String, usize> {
    let files: Vec<&SourceFile> = tree.files.iter().filter(|file| is_product(file)).collect();
    let mut all = BTreeMap::new();
    all.extend(types::measure(&files));
    all.extend(tuples::measure(&files));
    all.extend(comments::measure(&files));
    all.extend(doc_names::measure(tree));
    all.extend(cycles::measure(tree));
    all
}

/// Values above the ratchet, and entries that are out of date.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let text = tree.file(RATCHET).map_or("", |file| &file.text);
    let ratchet: MeasureRatchet = match toml::from_str(text) {
        Ok(ratchet) => ratchet,
        Err(error) => return vec![RuleBreach::new(RATCHET, 0, format!("cannot be read: {error}"))],
    };
    let found = measure_tree(tree);
    let judged = found.iter().filter_map(|(name, now)| {
        let before = ratchet.measures.get(name).copied().unwrap_or(0);
        let text = if *now > before {
            format!("measure `{name}` rose from {before} to {now}: it may only fall")
        } else if before - now > before / 100 {
            format!("measure `{name}` fell from {before} to {now}: lower its entry")
        } else {
            return None;
        };
        Some(RuleBreach::new(RATCHET, 0, text))
    });
    let gone = ratchet.measures.keys().filter(|name| !found.contains_key(*name));
    let gone = gone.map(|name| RuleBreach::new(RATCHET, 0, format!("nothing measures `{name}`")));
    judged.chain(gone).collect()
}

/// Source of a library or program of the product, without test-only code.
fn is_product(file: &SourceFile) -> bool {
    file.source_of().is_some() && !file.is_unit_tests()
}

/// `part` of `whole`, in thousandths.
fn thousandths(part: usize, whole: usize) -> usize {
    (part * 1_000).div_ceil(whole.max(1))
}
