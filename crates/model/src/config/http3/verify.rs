//! Verifies `http3` of a service: contradictions and requirements.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

pub fn verify_client_http3(
    service: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let Some(http3) = service.table("http3") else { return };
    let (first, most): (u64, u64) =
        (http3.count_or_zero("window"), http3.count_or_zero("max-window"));
    if most < first {
        let message = format!("`max-window` ({most} bytes) is less than `window` ({first} bytes)");
        let trouble =
            FindingDetails::new(message).with_expected("at least as many bytes as `window`");
        let key = if http3.is_written("max-window") { "max-window" } else { "window" };
        sink.error(http3.span_of(key), &format!("{path}.http3.{key}"), trouble);
    }
    if http3.text("offer") != Some("on") {
        let why = "`offer = \"off\"` speaks no HTTP/3";
        crate::config::http2::warn_without_effect(
            http3,
            "offer",
            &format!("{path}.http3"),
            why,
            "`offer = \"on\"`",
            sink,
        );
        return;
    }
    let at = || (http3.span_of("offer"), format!("{path}.http3.offer"));
    if service.table("tls").is_none() {
        let message = "HTTP/3 is always encrypted, and this service has no `tls`";
        let (place, path) = at();
        sink.error(
            place,
            &path,
            FindingDetails::new(message).with_expected("`tls` with a certificate"),
        );
    }
    if service.table("accept-proxy").is_some() {
        let message = "`http3` and `accept-proxy` exclude each other: the PROXY protocol says nothing of QUIC, so that \
             the client's address would be that of the proxy";
        let (place, path) = at();
        sink.error(place, &path, FindingDetails::new(message).with_expected("one of them"));
    }
}
