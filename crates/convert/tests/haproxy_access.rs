//! HAProxy: refusals that cannot be written stay closed, and listeners open what they opened.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

/// Directives, what must be written, and whether something is left out.
type ConversionCase = (&'static str, &'static str, bool);

fn rows(rows: &[ConversionCase]) {
    for (directives, written, left) in rows {
        let source = format!(
            "frontend f\n mode http\n bind 127.0.0.1:80\n default_backend b\n {directives}\n\
             backend b\n mode http\n server s 10.0.0.1:80\n"
        );
        let converted = convert(&source, "x", Dialect::Haproxy);
        let text = converted.text.clone().unwrap_or_else(|| panic!("{directives}: {converted:?}"));
        model::config::load(&text, "x")
            .unwrap_or_else(|findings| panic!("{directives}: {findings}"));
        let squeezed = text.replace("\n", " ");
        assert!(squeezed.contains(written), "{directives}: no {written} in\n{text}");
        let out = converted.notes.iter().any(|note| note.kind == NoteKind::LeftOut);
        assert_eq!(out, *left, "{directives}: {:?}", converted.notes);
    }
}

#[test]
fn haproxy_refusals_that_cannot_be_written_stay_closed() {
    rows(&[
        // A part that cannot be written counts as met, also where it is negated.
        ("http-request deny if { path /p } { src -f /x }", "{ path = \"/p\" } deny = true", true),
        ("http-request deny if { path /p } !{ src -f /x }", "{ path = \"/p\" } deny = true", true),
        ("acl x unheard_of y\n http-request deny if x", "deny = true", true),
        ("acl x src -f /x\n http-request deny unless x", "deny = true", true),
        ("http-request deny if { path /p } or { src -f /x }", "deny = true", true),
        ("http-request tarpit if { path /p }", "{ path = \"/p\" } deny = true", false),
        ("http-request silent-drop if { path /p }", "{ path = \"/p\" } deny = true", false),
        ("http-request auth if { src -f /x }", "deny = true", true),
        // A limit of clients that cannot be written is closed too, until somebody writes it.
        ("http-request deny if { sc_http_req_rate(0) gt 20 }", "deny = true", true),
        ("http-request deny unless { src_conn_rate lt 20 }", "deny = true", true),
        (
            "http-request deny if { sc_http_req_rate(0) gt 20 } or { src -f /x }",
            "deny = true",
            true,
        ),
        // Whom it lets through cannot be told: nobody is.
        (
            "http-request allow if { src -f /x }\n http-request deny if { path /p }",
            "when = { path = \"/p\" } deny = true",
            true,
        ),
    ]);
}

#[test]
fn haproxy_listeners_open_what_they_opened() {
    rows(&[
        ("bind :::81", "\":81\"", false),
        ("bind [::]:81 v4v6", "\":81\"", false),
        ("bind [::]:81 v6only", "\"[::]:81\"", false),
        ("bind *:81\n bind :::81", "\":81\", # line 6 ] forward", false),
        ("bind ipv6@:81 v6only", "\"[::]:81\"", false),
        (
            "bind 127.0.0.1:81 ssl crt /x/a.pem ca-file /x/ca.pem",
            "certificates = \"/x/a.pem\" # line 5  # x:6 backend b",
            false,
        ),
        (
            "bind 127.0.0.1:81 ssl crt /x/a.pem ca-file /x/ca.pem verify optional",
            "client = { ca = \"/x/ca.pem\", verify = \"optional\" }",
            false,
        ),
        (
            "use_backend d if { path /a }\nbackend d\n mode http\n server s 10.0.0.3:80 maxconn 0",
            "connections = \"off\"",
            false,
        ),
    ]);
}
