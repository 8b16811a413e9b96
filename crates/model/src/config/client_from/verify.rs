//! Verifies the field that names clients: it can hold addresses, and somebody is trusted to write it.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::request_head::same_name;

/// Fields that have another meaning.
const OTHER_MEANING: [&str; 12] = [
    "host",
    "via",
    "cookie",
    "authorization",
    "user-agent",
    "connection",
    "content-length",
    "transfer-encoding",
    "x-forwarded-proto",
    "x-forwarded-host",
    "x-forwarded-port",
    "te",
];

pub fn verify_client_from(
    service: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let Some(name) =
        service.text("client-from").filter(|_| service.text("forward") == Some("http"))
    else {
        return;
    };
    let path = format!("{path}.client-from");
    let span = service.span_of("client-from");
    if OTHER_MEANING.iter().any(|other| same_name(name.as_bytes(), other.as_bytes())) {
        let trouble = FindingDetails::new(format!("`{name}` is no field for a client's address"))
            .with_expected("\"x-forwarded-for\", \"forwarded\", or a field with one address");
        sink.error(span, &path, trouble);
    } else if service.prefixes("trust").is_empty() && service.network_files("trust").is_empty() {
        let message = "nobody is in `trust`, so this field is never read";
        sink.warning(span, &path, FindingDetails::new(message));
    }
}
