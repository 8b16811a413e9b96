//! Verifies error pages: their statuses, what they hold, and pages that are never used.

use crate::config::decode::key_path::quote_key;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::status_range::StatusRange;
use crate::config::status_ranges::{StatusRanges, build_statuses};
use crate::config::unsupported_keys::written_keys;

/// The statuses of errors (RFC 9110 §15).
const ERRORS: StatusRange = StatusRange { first: 400, last: 599 };

pub fn verify_error_pages(service: &ConfigSection, sink: &mut FindingCollector<'_, '_>) {
    let path = format!("service.{}.error-page", quote_key(&service.name));
    let mut seen = StatusRanges::default();
    for (at, page) in service.list("error-page").iter().enumerate() {
        let path = format!("{path}[{at}]");
        verify_content(page, &path, sink);
        let StatusRanges(ranges) = build_statuses(page, "status");
        for range in &ranges {
            if !(ERRORS.contains(range.first) && ERRORS.contains(range.last)) {
                let trouble = FindingDetails::new(format!("{range} is not a status of an error"));
                let trouble = trouble.with_expected(format!("statuses within {ERRORS}"));
                sink.error(page.span_of("status"), &format!("{path}.status"), trouble);
            }
        }
        let is_covered =
            |range: &StatusRange| (range.first..=range.last).all(|status| seen.contains(status));
        if !ranges.is_empty() && ranges.iter().all(is_covered) {
            let trouble = FindingDetails::new("never used: pages above have all its statuses");
            sink.warning(page.span_of("status"), &format!("{path}.status"), trouble);
        }
        seen.0.extend(ranges);
    }
}

fn verify_content(page: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let has = |key: &str| page.setting(key).is_some() || page.is_invalid(key);
    let mut wrong = |key: &str, trouble: FindingDetails| {
        sink.error(page.span_of(key), &format!("{path}.{key}"), trouble);
    };
    if page.text("format") == Some("http") {
        if !has("file") {
            let trouble = FindingDetails::new("only a file has a head of its own");
            wrong("format", trouble.with_expected("`file`, or no `format`"));
        }
        if written_keys(page, "").any(|key| key == "type") {
            let trouble = FindingDetails::new("the file's head has the type of the page");
            wrong("type", trouble.with_expected("`Content-Type` in the file, or no `format`"));
        }
    }
    if !["file", "body", "as"].into_iter().any(has) && page.texts("headers").is_empty() {
        let trouble = FindingDetails::new("this page holds nothing").with_found("a status alone");
        wrong("status", trouble.with_expected("`file`, `body`, `headers` or `as`"));
    }
}
