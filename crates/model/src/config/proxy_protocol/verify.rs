//! Verifies `accept-proxy` of a service and `send-proxy` of a pool: what contradicts.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

pub fn verify_accept_proxy(
    service: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let Some(accept) = service.table("accept-proxy") else { return };
    if accept.prefixes("from").is_empty() && accept.is_written("from") && !accept.is_invalid("from")
    {
        let trouble = FindingDetails::new("the list is empty: no header is ever read");
        let trouble =
            trouble.with_expected("the networks of the proxies in front, or no `accept-proxy`");
        sink.error(accept.span_of("from"), &format!("{path}.accept-proxy.from"), trouble);
    }
    let everybody = accept.prefixes("from").iter().any(|network| network.bits() == 0);
    if everybody {
        let message = "everybody is believed: any client may call itself by any address";
        let trouble =
            FindingDetails::new(message).with_expected("the networks of the proxies in front");
        sink.warning(accept.span_of("from"), &format!("{path}.accept-proxy.from"), trouble);
    }
}

pub fn verify_send_proxy(pool: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    if !matches!(pool.text("send-proxy"), Some("v1" | "v2")) {
        return;
    }
    let Some(http2) = pool.table("http2") else { return };
    if matches!(http2.text("mode"), Some("prefer" | "only")) {
        let message = "`send-proxy` and `http2` exclude each other: one connection in HTTP/2 carries many clients, and a \
                       header names one";
        sink.error(
            pool.span_of("send-proxy"),
            &format!("{path}.send-proxy"),
            FindingDetails::new(message),
        );
    }
}
