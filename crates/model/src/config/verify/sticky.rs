//! Judges `sticky`: what tells clients apart, and what must be said for that.

use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::resolve::Effective;
use super::super::section::Section;
use super::method::forwards_packets;

/// Settings of our own cookie.
const OF_INSERT: [&str; 3] = ["secure", "http-only", "same-site"];

/// Cookies that members make with a secret each are of no use at the other one.
pub fn shared(effective: &Effective, sink: &mut Sink<'_, '_>) {
    if effective.vrrp.is_empty() || effective.global.text("sticky-secret-file").is_some() {
        return;
    }
    for service in &effective.services {
        let Some(sticky) = service.table("sticky") else { continue };
        if sticky.text("by") != Some("cookie") || sticky.text("cookie") == Some("learn") {
            continue;
        }
        let trouble = Trouble::new(
            "each member of a shared address makes cookies with a secret of its own, so clients lose their servers when \
             the address moves",
        );
        let path = format!("service.{}.sticky.cookie", quoted(&service.name));
        let expected = "`sticky-secret-file` in `[global]`, the same on both members";
        sink.warning(sticky.place_of("by"), &path, trouble.expected(expected));
    }
}

/// Judge a service.
pub fn verify(service: &Section, sink: &mut Sink<'_, '_>) {
    let Some(sticky) = service.table("sticky") else { return };
    let path = format!("service.{}.sticky", quoted(&service.name));
    let (forward, by) = (service.text("forward"), sticky.text("by").unwrap_or_default());
    let mode = sticky.text("cookie").unwrap_or("insert");
    let mut wrong = |key: &str, trouble: Trouble| {
        sink.error(sticky.place_of(key), &format!("{path}.{key}"), trouble);
    };
    let of_requests = matches!(by, "cookie" | "header" | "path" | "query");
    if of_requests && forward != Some("http") && !forwards_packets(service) {
        let trouble = Trouble::new(format!("bytes show no {by}"));
        wrong("by", trouble.expected("\"address\" or \"tls-session\""));
    }
    if by == "tls-session" && service.table("tls").is_none() {
        let trouble = Trouble::new("the service does not speak TLS, so no session is resumed");
        wrong("by", trouble.expected("`tls` in the service"));
    }
    if by == "tls-session" && service.table("tls").is_some_and(|tls| tls.unset("tickets")) {
        let trouble = Trouble::new("`tls.tickets` is off, so no session is resumed");
        wrong("by", trouble.expected("`tickets` of a time, such as \"6h\", in `tls`"));
    }
    let needs_name = matches!(by, "cookie" | "header" | "query");
    if needs_name && sticky.setting("name").is_none() && !sticky.broken("name") {
        wrong("by", Trouble::new(format!("`by = \"{by}\"` needs its `name`")));
    }
    if !needs_name && sticky.wrote("name") {
        wrong("name", Trouble::new(format!("`by = \"{by}\"` has no name")));
    }
    if by != "cookie" && sticky.wrote("cookie") {
        wrong("cookie", Trouble::new("it belongs to `by = \"cookie\"`"));
    }
    let ours = by == "cookie" && mode != "learn";
    for key in OF_INSERT {
        if sticky.wrote(key) && !(by == "cookie" && mode == "insert") {
            wrong(key, Trouble::new("it belongs to `by = \"cookie\"` with `cookie = \"insert\"`"));
        }
    }
    if sticky.time("time").is_none() && !sticky.broken("time") && !ours {
        let trouble = Trouble::new("what is remembered must end: `time` is missing");
        wrong("time", trouble.found("nothing").expected("a time, such as \"10m\""));
    }
    if mode == "rewrite" && by == "cookie" && sticky.wrote("time") {
        wrong("time", Trouble::new("the cookie is the application's, and so is its time"));
    }
    for key in ["mask4", "mask6"] {
        if sticky.wrote(key) && by != "address" {
            wrong(key, Trouble::new("it belongs to `by = \"address\"`"));
        }
    }
    if sticky.wrote("entries") && ours {
        wrong(
            "entries",
            Trouble::new("our cookies carry the server themselves: nothing is remembered"),
        );
    }
    if sticky.text("same-site") == Some("none")
        && sticky.setting("secure").is_some()
        && !sticky.flag("secure")
    {
        wrong("same-site", Trouble::new("browsers take `none` only with `secure = true`"));
    }
}
