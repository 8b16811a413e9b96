//! Verifies `http2` of a service and of a pool: what contradicts.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::unsupported_keys::written_keys;

/// Warns of a service's keys without effect when HTTP/2 is off.
pub fn verify_client_http2(
    service: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    verify_windows(service, path, sink);
    let Some(http2) = service.table("http2") else { return };
    let (why, expected) = match http2.text("offer") {
        Some("off") => ("`offer = \"off\"` speaks no HTTP/2", "`offer = \"tls\"`"),
        Some("tls") if service.table("tls").is_none() && !service.is_invalid("tls") => (
            "`offer = \"tls\"` speaks HTTP/2 over TLS alone, and the service has no `tls`",
            "`tls` in the service, or `offer = \"always\"`",
        ),
        _ => return,
    };
    warn_without_effect(http2, "offer", &format!("{path}.http2"), why, expected, sink);
}

/// Warns of a pool's keys without effect when HTTP/2 is off.
pub fn verify_server_http2(pool: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    verify_windows(pool, path, sink);
    let Some(http2) = pool.table("http2") else { return };
    if http2.text("mode") == Some("off") {
        let why = "`mode = \"off\"` speaks no HTTP/2 with servers";
        let expected = "`mode = \"prefer\"`";
        warn_without_effect(http2, "mode", &format!("{path}.http2"), why, expected, sink);
    }
}

/// Warns of keys without effect while the table's switch is off, with the reason and the correction.
pub fn warn_without_effect(
    table: &ConfigSection,
    switch: &str,
    path: &str,
    why: &str,
    expected: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    for key in written_keys(table, switch) {
        let trouble =
            FindingDetails::new(format!("`{key}` has no effect: {why}")).with_expected(expected);
        sink.warning(table.span_of(key), &format!("{path}.{key}"), trouble);
    }
}

fn verify_windows(owner: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let Some(http2) = owner.table("http2") else { return };
    let (first, most): (u64, u64) =
        (http2.count_or_zero("window"), http2.count_or_zero("max-window"));
    if most < first {
        let message = format!("`max-window` ({most} bytes) is less than `window` ({first} bytes)");
        let trouble =
            FindingDetails::new(message).with_expected("at least as many bytes as `window`");
        let key = if http2.is_written("max-window") { "max-window" } else { "window" };
        sink.error(http2.span_of(key), &format!("{path}.http2.{key}"), trouble);
    }
}
