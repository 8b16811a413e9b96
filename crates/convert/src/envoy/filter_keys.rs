//! HTTP filters that become keys of the service or a fixed answer: `buffer`, `compressor` and `health_check`.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::hidden_fields::HiddenFields;
use super::reader::{
    leave_out, note_changed, settle_inside, take_flag, take_number, take_text, take_texts,
};
use super::rule::EnvoyRule;
use super::strings::{extension_type, header_condition};

/// A key of the service.
#[derive(Clone, Debug)]
pub struct ServiceEntry {
    pub key: &'static str,
    pub value: String,
    pub source: SourcePlace,
}

/// Answers to health checks.
pub fn health_answer(
    config: &ConfigNode,
    hidden: &HiddenFields,
    notes: &mut ConversionNotes,
) -> Option<EnvoyRule> {
    let passes = take_flag(config, "pass_through_mode", notes).unwrap_or(false);
    let mut parts = Vec::new();
    for item in config.get("headers").map(ConfigNode::items).unwrap_or_default() {
        let is_path = item.text_of("name") == Some(":path") && !item.has("invert_match");
        let exact = item.get("string_match").and_then(|one| one.text_of("exact"));
        match exact.or_else(|| item.text_of("exact_match")).filter(|_| is_path) {
            Some(path) => {
                settle_inside(item, notes);
                parts.push(RuleCondition::texts("path", &[path]));
            }
            None => parts.push(header_condition(item, notes)),
        }
    }
    for other in config.unread_entries() {
        leave_out(other, "the answer does not look at servers", "a rule with `servers`", notes);
    }
    let when = hidden.hide(RuleCondition::All(parts));
    if passes || when.unknown().is_some() {
        leave_out(
            config,
            "checks of other balancers go to the servers",
            "a rule with `answer`",
            notes,
        );
        return None;
    }
    Some(EnvoyRule {
        when,
        keys: vec![KeyValue::new("answer", "200")],
        source: config.source,
        text: "health_check".to_owned(),
    })
}

/// The entry by which answers to clients are compressed.
pub fn compression(config: &ConfigNode, notes: &mut ConversionNotes) -> Option<ServiceEntry> {
    let library = config.get("compressor_library");
    let coding = library.map(|library| {
        take_text(library, "name", notes);
        extension_type(library, notes)
    });
    let coding = match coding.unwrap_or_default() {
        "Gzip" => "gzip",
        "Brotli" => "br",
        "Zstd" => "zstd",
        _ => {
            leave_out(config, "answers are compressed by gzip, br or zstd", "`compress`", notes);
            return None;
        }
    };
    let mut pairs = vec![KeyValue::new("codings", value::quote(coding))];
    let direction = config.get("response_direction_config");
    let common = direction.and_then(|one| one.get("common_config")).unwrap_or(config);
    let min = take_number(common, "min_content_length", notes)
        .or_else(|| take_number(config, "content_length", notes))
        .unwrap_or(30);
    let types = take_texts(common, "content_type", notes);
    if !types.is_empty() {
        pairs.push(KeyValue::new("types", value::quote_all(&types)));
    }
    pairs.push(KeyValue::new("min", value::quote(&format!("{}B", min.max(1)))));
    let reason = "levels, windows and switches of compression are our own";
    for node in [Some(config), library, direction, Some(common)].into_iter().flatten() {
        for other in node.unread_entries() {
            note_changed(other, reason, "`compress` of the service", notes);
        }
    }
    for other in library
        .and_then(|one| one.get("typed_config"))
        .into_iter()
        .flat_map(ConfigNode::unread_entries)
    {
        note_changed(other, reason, "`compress` of the service", notes);
    }
    Some(ServiceEntry { key: "compress", value: value::table(&pairs), source: config.source })
}

/// Requests that are read whole before they are sent on.
pub fn request_buffer(config: &ConfigNode, notes: &mut ConversionNotes) -> Option<ServiceEntry> {
    let bytes = take_number(config, "max_request_bytes", notes)?;
    let pairs = [
        KeyValue::new("request", value::quote(&format!("{}B", bytes.max(1)))),
        KeyValue::new("when-larger", value::quote("refuse")),
    ];
    Some(ServiceEntry { key: "buffer", value: value::table(&pairs), source: config.source })
}
