//! Verifies the settings that a rule replaces: those without effect, and bodies that exceed the service's memory.

use crate::config::buffer::verify_buffer_memory;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::retry::verify_retried_statuses;
use crate::config::section::ConfigSection;
use crate::config::unsupported_keys::written_keys;

/// Verifies what the rule at `path` replaces of `service`.
pub fn verify_rule_overrides(
    rule: &ConfigSection,
    service: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    if let Some(retry) = rule.table("retry") {
        if rule.count::<u64>("retries") == Some(0) {
            for key in written_keys(retry, "") {
                let message =
                    format!("`retry.{key}` has no effect: `retries = 0` allows no further attempt");
                let trouble = FindingDetails::new(message)
                    .with_expected("`retries = 1` or more, or no such key");
                sink.warning(retry.span_of(key), &format!("{path}.retry.{key}"), trouble);
            }
        }
        verify_retried_statuses(retry, &format!("{path}.retry"), sink);
    }
    if let Some(buffer) = rule.table("buffer") {
        verify_rule_buffer(buffer, service, &format!("{path}.buffer"), sink);
    }
}

fn verify_rule_buffer(
    buffer: &ConfigSection,
    service: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let Some(outer) = service.table("buffer") else { return };
    let requests = match buffer.setting("request") {
        Some(_) => buffer.count::<u64>("request"),
        None => outer.count("request"),
    };
    if buffer.text("when-larger") == Some("refuse")
        && requests.is_none()
        && !buffer.is_invalid("request")
        && !outer.is_invalid("request")
    {
        let message = "nothing is refused: without `request` no body is read before a server is chosen, however long it is";
        let trouble = FindingDetails::new(message).with_expected("`request = \"1MiB\"` beside it");
        sink.error(buffer.span_of("when-larger"), &format!("{path}.when-larger"), trouble);
    }
    verify_buffer_memory(buffer, outer, path, sink);
}
