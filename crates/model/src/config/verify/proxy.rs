//! Judges `accept-proxy` of a service and `send-proxy` of a pool: what contradicts.

use super::super::finding::{Sink, Trouble};
use super::super::section::Section;

/// Judge a service's.
pub fn service(service: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let Some(accept) = service.table("accept-proxy") else { return };
    if accept.prefixes("from").is_empty() && accept.wrote("from") && !accept.broken("from") {
        let trouble = Trouble::new("the list is empty: no header is ever read");
        let trouble =
            trouble.expected("the networks of the proxies in front, or no `accept-proxy`");
        sink.error(accept.place_of("from"), &format!("{path}.accept-proxy.from"), trouble);
    }
    let everybody = accept.prefixes("from").iter().any(|network| network.bits() == 0);
    if everybody {
        let message = "everybody is believed: any client may call itself by any address";
        let trouble = Trouble::new(message).expected("the networks of the proxies in front");
        sink.warning(accept.place_of("from"), &format!("{path}.accept-proxy.from"), trouble);
    }
}

/// Judge a pool's.
pub fn pool(pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    if !matches!(pool.text("send-proxy"), Some("v1" | "v2")) {
        return;
    }
    let Some(http2) = pool.table("http2") else { return };
    if matches!(http2.text("speak"), Some("prefer" | "only")) {
        let message = "`send-proxy` and `http2` exclude each other: one connection in HTTP/2 carries many clients, and a \
                       header names one";
        sink.error(
            pool.place_of("send-proxy"),
            &format!("{path}.send-proxy"),
            Trouble::new(message),
        );
    }
}
