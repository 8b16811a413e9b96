//! Builds what a rule changes, from settings that were verified before.

use super::types::{AddedField, PrefixRewrite, RewriteConfig};
use crate::config::section::ConfigSection;
use crate::config::status_range::StatusRange;
use crate::config::status_ranges::{StatusRanges, build_statuses};

pub fn build_rewrite(rewrite: &ConfigSection) -> RewriteConfig {
    RewriteConfig {
        path: owned_text(rewrite, "path"),
        strip: owned_text(rewrite, "strip"),
        prefix: owned_text(rewrite, "prefix"),
        host: owned_text(rewrite, "host"),
        set: rewrite.texts("set").to_vec(),
        add: rewrite.texts("add").to_vec(),
        remove: rewrite.texts("remove").to_vec(),
        answer_set: rewrite.texts("response-set").to_vec(),
        answer_remove: rewrite.texts("response-remove").to_vec(),
        response_add: rewrite.list("response-add").iter().map(build_added_field).collect(),
        location: build_pairs(rewrite, "location"),
        cookie_domain: build_pairs(rewrite, "cookie-domain"),
        cookie_path: build_pairs(rewrite, "cookie-path"),
    }
}

/// The text of a key, of its own.
pub fn owned_text(section: &ConfigSection, key: &str) -> Option<String> {
    section.text(key).map(str::to_owned)
}

fn build_added_field(section: &ConfigSection) -> AddedField {
    let statuses = match section.setting("statuses") {
        Some(_) => build_statuses(section, "statuses"),
        None => StatusRanges(vec![StatusRange { first: 100, last: 599 }]),
    };
    let field = owned_text(section, "field").unwrap_or_default();
    AddedField { field, statuses, own: section.flag("own") }
}

fn build_pairs(rewrite: &ConfigSection, key: &str) -> Vec<PrefixRewrite> {
    let text = |pair: &ConfigSection, key: &str| owned_text(pair, key).unwrap_or_default();
    let pairs = rewrite.list(key).iter();
    pairs.map(|pair| PrefixRewrite { from: text(pair, "from"), to: text(pair, "to") }).collect()
}
