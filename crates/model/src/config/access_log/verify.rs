//! Verifies the access log: its fields stand in a format that has them, each once, and those of a sample have a weight.

use super::field::{AccessLogField, LogSource};
use super::target::{SyslogServer, SyslogTransport};
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

const FIELDS: &str = "global.access-log.fields";

pub fn verify_access_log(log: &ConfigSection, sink: &mut FindingCollector<'_, '_>) {
    verify_sample(log, sink);
    verify_tls(log, sink);
    let names = log.texts("fields");
    if names.is_empty() {
        return;
    }
    let span = || log.span_of("fields");
    if let Some(format @ ("common" | "combined" | "cef")) = log.text("format") {
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

/// Only a server over TLS has a certificate.
fn verify_tls(log: &ConfigSection, sink: &mut FindingCollector<'_, '_>) {
    let is_tls = |target: &str| {
        SyslogServer::parse(target).is_some_and(|it| it.transport == SyslogTransport::Tls)
    };
    let Some(tls) = log.table("tls") else { return };
    let is_set = tls.text("name").or(tls.text("ca")).is_some();
    if is_set && !log.text("target").is_some_and(is_tls) {
        let trouble = FindingDetails::new("`tls` has no effect: `target` is no server over TLS")
            .with_expected("`target = \"syslog+tls://ADDRESS:PORT\"`");
        sink.error(log.span_of("tls"), "global.access-log.tls", trouble);
    }
}

/// A sample needs its weight in the line, and has no sense where everything is logged.
fn verify_sample(log: &ConfigSection, sink: &mut FindingCollector<'_, '_>) {
    if log.count::<u32>("sample").is_none() {
        return;
    }
    let fields = log.texts("fields");
    let has_weight = fields.is_empty() || fields.iter().any(|it| it == "default" || it == "weight");
    let trouble = if log.flag("all") {
        FindingDetails::new("`all` logs every exchange")
            .with_expected("`sample` alone: what failed, what was slow, and this share of the rest")
    } else if log.text("format") == Some("combined") {
        FindingDetails::new("lines of `combined` have no place for a weight")
            .with_expected("`format = \"json\"`, `\"logfmt\"` or `\"common\"`")
    } else if !has_weight {
        FindingDetails::new("lines of a sample need their weight")
            .with_expected("`\"weight\"` or `\"default\"` in `fields`")
    } else {
        return;
    };
    sink.error(log.span_of("sample"), "global.access-log.sample", trouble);
}
