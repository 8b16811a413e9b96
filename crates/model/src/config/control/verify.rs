//! Verifies the API: over TCP off loopback it requires TLS and tokens, and its Unix socket is no server of a pool.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::pool::find_unix_server;
use crate::config::section::ConfigSection;

/// Refuses a server that is the socket of the API: clients of a service would be taken for the daemon's user.
pub fn verify_own_socket(
    global: &ConfigSection,
    pools: &[ConfigSection],
    sink: &mut FindingCollector<'_, '_>,
) {
    let own = global.table("control").and_then(|control| control.text("socket"));
    let Some(socket) = own else { return };
    if let Some(server) = find_unix_server(pools, socket) {
        let trouble = FindingDetails::new(format!("{socket} is the socket of this API"))
            .with_expected("the socket of another program");
        sink.error(server.span_of("address"), "pool", trouble);
    }
}

/// Requires TLS and tokens for the API off loopback, and warns of its keys without `listen`.
pub fn verify_remote_api(global: &ConfigSection, sink: &mut FindingCollector<'_, '_>) {
    let Some(control) = global.table("control") else { return };
    let Some(listen) = control.sockets("listen").first() else {
        for key in ["tokens", "certificate", "client-authorities", "hosts"] {
            if control.setting(key).is_some() && !control.is_invalid("listen") {
                let message = format!("`{key}` says nothing: the API is not served over TCP");
                let trouble = FindingDetails::new(message)
                    .with_expected("`listen = \"127.0.0.1:9180\"` beside it");
                sink.error(control.span_of(key), &format!("global.control.{key}"), trouble);
            }
        }
        return;
    };
    if control.setting("client-authorities").is_some() {
        for key in ["certificate", "tokens"] {
            if control.setting(key).is_none() {
                let message = format!("`client-authorities` says nothing without `{key}`");
                let trouble = FindingDetails::new(message).with_expected(
                    "`certificate` to speak TLS with, and `tokens` to say what each client may do",
                );
                let place = control.span_of("client-authorities");
                sink.error(place, "global.control.client-authorities", trouble);
            }
        }
    }
    let wanted = [
        ("certificate", "whoever listens on the way would read the tokens"),
        ("tokens", "nobody could use it"),
    ];
    for (key, because) in wanted {
        if !listen.ip().is_loopback() && control.setting(key).is_none() {
            let message =
                format!("{listen} is not a loopback address and has no `{key}`: {because}");
            let trouble = FindingDetails::new(message)
                .with_expected(format!("a loopback address, or `{key}`"));
            sink.error(control.span_of("listen"), "global.control.listen", trouble);
        }
    }
}
