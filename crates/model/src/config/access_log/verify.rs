//! Verifies the access log: its fields stand in a format that has them, and each once.

use super::field::{AccessLogField, LogSource};
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

const FIELDS: &str = "global.access-log.fields";

pub fn verify_access_log(log: &ConfigSection, sink: &mut FindingCollector<'_, '_>) {
    let names = log.texts("fields");
    if names.is_empty() {
        return;
    }
    let span = || log.span_of("fields");
    if let Some(format @ ("common" | "combined")) = log.text("format") {
        let trouble = FindingDetails::new(format!("lines of `{format}` have a form of their own"))
            .with_expected("`fields` with `format = \"json\"` or `\"logfmt\"`");
        sink.error(span(), FIELDS, trouble);
    }
    let fields: Vec<AccessLogField> =
        names.iter().filter_map(|name| AccessLogField::parse(name)).collect();
    let has_default = fields.iter().any(|field| field.source == LogSource::Default);
    for (at, field) in fields.iter().enumerate() {
        let name = field.name();
        if fields.iter().take(at).any(|before| before.source == field.source) {
            sink.error(span(), FIELDS, FindingDetails::new(format!("`{name}` stands here twice")));
        } else if has_default && field.is_in_default() {
            let message = format!("`{name}` stands in `default` already");
            sink.error(span(), FIELDS, FindingDetails::new(message));
        }
    }
}
