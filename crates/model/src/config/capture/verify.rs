//! Verifies capture rules: each has a condition and refers to a service.

use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::suggestion::nearest_match;

const TRIGGER_KEYS: [&str; 4] = ["latency", "reason", "from", "errors"];

/// Verifies all capture rules. `whole`: the file was parsed completely.
pub fn verify_capture(
    effective: &EffectiveSettings,
    whole: bool,
    sink: &mut FindingCollector<'_, '_>,
) {
    for rule in &effective.captures {
        let path = format!("capture.{}", quote_key(&rule.name));
        if whole && !TRIGGER_KEYS.iter().any(|key| rule.is_written(key)) {
            let trouble =
                FindingDetails::new("nothing says when a capture is made").with_found("nothing");
            let expected = "`latency`, `cause`, `from` or `errors`";
            sink.error(rule.span, &path, trouble.with_expected(expected));
        }
        if rule.is_written("errors") && TRIGGER_KEYS[..3].iter().any(|key| rule.is_written(key)) {
            let message = "failures are counted over a service, not for single exchanges";
            let trouble = FindingDetails::new(message);
            let trouble = trouble.with_expected("`errors` in a capture of its own");
            sink.error(rule.span_of("errors"), &format!("{path}.errors"), trouble);
        }
        verify_service_reference(rule, &path, effective, whole, sink);
    }
}

fn verify_service_reference(
    rule: &ConfigSection,
    path: &str,
    effective: &EffectiveSettings,
    whole: bool,
    sink: &mut FindingCollector<'_, '_>,
) {
    let Some(name) = rule.text("service").filter(|_| whole) else { return };
    let found = effective.services.iter().find(|service| service.name == name);
    let key = format!("{path}.service");
    match found.map(|service| service.text("forward")) {
        None => {
            let names = effective.services.iter().map(|service| service.name.as_str());
            let near = if sink.wants_suggestions() { nearest_match(name, names) } else { None };
            let trouble = FindingDetails::new(format!("there is no service `{name}`"))
                .with_expected("the name of a table `[service.NAME]`")
                .with_suggestion(near.map(|name| format!("\"{name}\"")));
            sink.error(rule.span_of("service"), &key, trouble);
        }
        Some(Some("mac" | "nat" | "tunnel")) => {
            let message = "exchanges of packet services are not measured, so nothing calls for one";
            let trouble =
                FindingDetails::new(message).with_expected("a service with `http` or `tcp`");
            sink.error(rule.span_of("service"), &key, trouble);
        }
        Some(_) => {}
    }
}
