//! Builds the edits of a service from verified settings.

use super::build::build_condition;
use super::build_rewrite::{build_rewrite, owned_text};
use super::edit_types::{EditConfig, ResponseCondition};
use super::types::Condition;
use crate::config::matching::NameValuePattern;
use crate::config::section::ConfigSection;
use crate::config::status_ranges::build_statuses;

pub fn build_edit(section: &ConfigSection) -> EditConfig {
    let pool = owned_text(section, "pool");
    EditConfig {
        name: owned_text(section, "name"),
        when: section.table("when").map_or(Condition::All(Vec::new()), build_condition),
        when_response: section.table("when-response").map(build_response).unwrap_or_default(),
        after_rules: pool.is_some() || section.flag("after-rules"),
        pool,
        rewrite: section.table("rewrite").map(build_rewrite).unwrap_or_default(),
    }
}

fn build_response(section: &ConfigSection) -> ResponseCondition {
    let ignore_case = section.text("value-case") == Some("ignore");
    let fields = |key: &str| {
        let parsed =
            section.texts(key).iter().filter_map(|text| NameValuePattern::parse_field(text));
        parsed.map(|field| field.with_case(ignore_case)).collect()
    };
    ResponseCondition {
        statuses: build_statuses(section, "statuses"),
        header: fields("header"),
        without: fields("without"),
    }
}
