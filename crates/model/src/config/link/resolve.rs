//! Effective settings of a link bundle.

use super::keys::LINK;
use crate::config::section::ConfigSection;
use crate::config::setting_layers::resolve_top_table;

pub fn resolve_link(written: &ConfigSection) -> ConfigSection {
    let mut bundle = resolve_top_table(&LINK, written);
    if bundle.text("policy") != Some("round-robin") {
        let unwritten = ["equalise", "burst"].into_iter().filter(|key| !written.is_written(key));
        unwritten.for_each(|key| bundle.clear(key));
    }
    bundle
}
