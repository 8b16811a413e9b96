//! Judges `http2` of a service and of a pool: what contradicts.

use super::super::finding::{Sink, Trouble};
use super::super::section::Section;
use super::method::set_here;

/// Judge a service's: what it says where HTTP/2 is not spoken with clients.
pub fn service(service: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    both(service, path, sink);
    let Some(http2) = service.table("http2") else { return };
    let (why, expected) = match http2.text("offer") {
        Some("off") => ("`offer = \"off\"` speaks no HTTP/2", "`offer = \"tls\"`"),
        Some("tls") if service.table("tls").is_none() && !service.broken("tls") => (
            "`offer = \"tls\"` speaks HTTP/2 over TLS alone, and the service has no `tls`",
            "`tls` in the service, or `offer = \"always\"`",
        ),
        _ => return,
    };
    idle(http2, "offer", &format!("{path}.http2"), why, expected, sink);
}

/// Judge a pool's: what it says where HTTP/2 is not spoken with servers.
pub fn pool(pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    both(pool, path, sink);
    let Some(http2) = pool.table("http2") else { return };
    if http2.text("speak") == Some("off") {
        let (why, expected) =
            ("`speak = \"off\"` speaks no HTTP/2 with servers", "`speak = \"prefer\"`");
        idle(http2, "speak", &format!("{path}.http2"), why, expected, sink);
    }
}

/// Warn of what has no effect while the table's switch is off: why, and what would be right.
pub fn idle(
    table: &Section,
    switch: &str,
    path: &str,
    why: &str,
    expected: &str,
    sink: &mut Sink<'_, '_>,
) {
    for key in set_here(table, switch) {
        let trouble = Trouble::new(format!("`{key}` has no effect: {why}")).expected(expected);
        sink.warning(table.place_of(key), &format!("{path}.{key}"), trouble);
    }
}

/// Judge a service's or a pool's.
fn both(owner: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let Some(http2) = owner.table("http2") else { return };
    let (first, most): (u64, u64) = (http2.number("window"), http2.number("window-most"));
    if most < first {
        let message = format!("`window-most` ({most} bytes) is less than `window` ({first} bytes)");
        let trouble = Trouble::new(message).expected("at least as many bytes as `window`");
        let key = if http2.wrote("window-most") { "window-most" } else { "window" };
        sink.error(http2.place_of(key), &format!("{path}.http2.{key}"), trouble);
    }
}
