//! Verifies `forwarded` of a service: a field is written by one key alone, and no other field becomes an address.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::request_head::same_name;

/// Fields whose value has another meaning than one address, or a list of them.
const OTHER_MEANING: [&str; 8] = [
    "forwarded",
    "via",
    "x-forwarded-proto",
    "x-forwarded-host",
    "x-forwarded-port",
    "cookie",
    "te",
    "upgrade",
];

pub fn verify_forwarded(service: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let Some(forwarded) = service.table("forwarded") else { return };
    let Some(field) = forwarded.table("client-field") else { return };
    let Some(name) = field.text("name") else { return };
    let is = |other: &str| same_name(name.as_bytes(), other.as_bytes());
    let path = format!("{path}.forwarded.client-field.name");
    if OTHER_MEANING.iter().any(|other| is(other)) || is_ours(name) {
        let trouble = FindingDetails::new(format!("`{name}` is no field for a client's address"))
            .with_expected("a field such as \"X-Forwarded-For\", \"X-Real-IP\" or \"X-Client-IP\"");
        sink.error(field.span_of("name"), &path, trouble);
    }
    let action = forwarded.text("x-forwarded").unwrap_or("append");
    if is("x-forwarded-for") && !matches!(action, "pass" | "remove") {
        let message = format!("`x-forwarded = \"{action}\"` writes `{name}` as well");
        let trouble = FindingDetails::new(message).with_expected(
            "beside it `x-forwarded = \"pass\"`, or `\"remove\"`, which drops what came",
        );
        sink.error(field.span_of("name"), &path, trouble);
    }
}

/// Whether the name begins as those of what we tell of our own answers.
fn is_ours(name: &str) -> bool {
    const OWN: &[u8] = b"x-steelyard-";
    name.as_bytes().get(..OWN.len()).is_some_and(|start| same_name(start, OWN))
}
