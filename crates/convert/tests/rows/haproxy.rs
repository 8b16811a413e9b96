//! Conversion of single HAProxy directives, one row each.

use convert::dialect::Dialect;

use super::{ConversionCase, rows};

const HAPROXY: &[ConversionCase] = &[
    ("use_backend c if { path /a }", "when = { path = \"/a\" } pool = \"c\"", false),
    ("use_backend c if { path_beg /a /b }", "path = [\"/a*\", \"/b*\"]", false),
    ("use_backend c if { path_end .js }", "path = \"/**.js\"", false),
    ("use_backend c if { path_beg -i /a }", "path-regex = \"(?i)/a.*\"", false),
    ("use_backend c if { path_reg ^/x[0-9]+ }", "path-regex = \"/x[0-9]+.*\"", false),
    ("use_backend c if { path_sub a.b }", "path-regex = \".*a\\\\.b.*\"", false),
    ("acl a hdr(host) -i h.example\n use_backend c if a", "host = \"h.example\"", false),
    ("acl a hdr_end(host) .h.example\n use_backend c if a", "host = \"*.h.example\"", false),
    ("acl a hdr_beg(host) www.\n use_backend c if a", "header = \"host: www.*\"", false),
    (
        "acl a method POST\n acl b src 10.0.0.0/8\n use_backend c if a !b",
        "method = \"POST\", not = { client = \"10.0.0.0/8\" }",
        false,
    ),
    (
        "acl a path /x\n acl a path /y\n use_backend c if a",
        "any = [{ path = \"/x\" }, { path = \"/y\" }]",
        false,
    ),
    ("use_backend c unless { path /a }", "when = { not = { path = \"/a\" } }", false),
    ("use_backend c if { path /a } || { path /b }", "any = [", false),
    ("use_backend c if { nbsrv(b) lt 2 }", "servers = { of = \"b\", up = \"-1\" }", false),
    ("use_backend c if { ssl_fc } { path /a }", "pool = \"b\"", false),
    ("http-request deny if { path /a }", "when = { path = \"/a\" } deny = true", false),
    ("http-request deny deny_status 429 if { path /a }", "answer = 429", false),
    (
        "http-request allow if { src 10.0.0.1 }\n http-request deny",
        "when = { not = { client = \"10.0.0.1\" } } deny = true",
        false,
    ),
    // A denial is widened if its condition cannot be expressed.
    ("http-request deny if { path -f /x }", "deny = true", true),
    ("http-request deny unless { src -f /x }", "deny = true", true),
    ("http-request deny if unheard_of", "deny = true", true),
    (
        "http-request deny if { path /a } { src -f /x }",
        "when = { path = \"/a\" } deny = true",
        true,
    ),
    (
        "http-request deny unless { path /a } || { src -f /x }",
        "when = { not = { path = \"/a\" } } deny = true",
        true,
    ),
    ("acl bad path -f /x\n acl bad path /y\n http-request deny if bad", "deny = true", true),
    ("http-request tarpit if { path /a }", "when = { path = \"/a\" } deny = true", false),
    ("http-request silent-drop if { path -f /a }", "deny = true", true),
    ("tcp-request connection reject if { src -f /x }", "deny = true", true),
    ("http-request return status 404 if { path -f /x }", "answer = { status = 404 }", true),
    (
        "http-request allow if { src -f /x }\n http-request allow if { src 10.0.0.1 }\n http-request deny",
        "when = { not = { client = \"10.0.0.1\" } } deny = true",
        true,
    ),
    ("http-request auth unless { src -f /x }", "deny = true", true),
    (
        "redirect scheme https if !{ ssl_fc }",
        "redirect = { to = \"https://{host}{path}{query}\", status = 302 }",
        false,
    ),
    (
        "http-request redirect location /x code 303",
        "redirect = { to = \"/x\", status = 303 }",
        false,
    ),
    ("http-request set-header X-A b", "rewrite = { set = \"X-A: b\" }", false),
    ("http-request set-header X-A %[src,lower]", "rewrite = { remove = \"X-A\" }", true),
    ("http-request set-header Host x.example", "rewrite = { host = \"x.example\" }", false),
    ("maxconn 0", "pool = \"b\"", false),
    ("backlog 1000", "socket = { backlog = 1000 }", false),
    ("bind *:81 generate-certificates", "pool = \"b\"", true),
    ("bind :::81", "\":81\"", false),
    ("bind :::80\n bind *:80", "\":80\", # line 5 ]", false),
    ("bind :::81 v6only", "\"[::]:81\"", false),
    ("bind *:81 ssl crt /c.pem ca-file /ca.pem", "certificates = \"/c.pem\"", false),
    ("bind *:81 ssl crt /c.pem ca-file /ca.pem verify required", "verify = \"required\"", false),
    ("bind *:81 ssl crt /c.pem verify required", "pool = \"b\"", true),
    ("bind *:81 ssl crt /c.pem strict-sni", "unknown-sni = \"require\"", false),
    ("http-response del-header Server", "response-remove = \"Server\"", false),
    ("timeout client 90s\n timeout http-request 5s", "header = \"5s\" # line 6", false),
    // HAProxy's own values, and none where it waits without an end.
    ("", "header = \"7d\" idle = \"7d\" between-bytes = \"7d\" tunnel = \"7d\"", false),
    ("", "connect = \"10m\" queue = \"1d\" first-byte = \"7d\" between-bytes = \"7d\"", false),
    ("", "retries = 3 retry = { unsent-only = true }", false),
    ("timeout client 90s", "header = \"90s\" # line 5 idle = \"90s\"", false),
    ("timeout client 0", "between-bytes = \"7d\" # line 5", false),
    // The tunnels of each backend have its own time.
    (
        "use_backend d if { path /a }\n timeout tunnel 1h\nbackend d\n mode http\n timeout tunnel 5m\n server s 10.0.0.3:80",
        "pool = \"d\" timeout = { tunnel = \"5m\" }",
        false,
    ),
    (
        "use_backend d if { path /a }\n timeout tunnel 1h\nbackend d\n mode http\n timeout tunnel 1h\n server s 10.0.0.3:80",
        "tunnel = \"1h\"",
        false,
    ),
    ("maxconn 10", "limit = { connections = 10 }", false),
    ("http-request set-header X-Forwarded-Proto http", "set = \"X-Forwarded-Proto: http\"", false),
    (
        "http-request set-header X-Forwarded-For %[src]",
        "set = \"X-Forwarded-For: {client}\"",
        false,
    ),
    (
        "monitor-uri /up",
        "when = { path = \"/up\" } answer = { status = 200, body = \"<html><body><h1>200 OK</h1>",
        false,
    ),
    ("unheard-of x", "pool = \"b\"", true),
];

#[test]
fn haproxy() {
    rows(Dialect::Haproxy, HAPROXY);
}

const HAPROXY_CONNECTIONS_AND_ANSWERS: &[ConversionCase] = &[
    (
        "use_backend sorry if { path /a }\nbackend sorry\n mode http",
        "when = { path = \"/a\" } answer = 503",
        false,
    ),
    (
        "use_backend c if { hdr(x-a) -i On }",
        "header-list = \"x-a: On\", value-case = \"ignore\"",
        false,
    ),
    (
        "compression algo gzip\n compression type text/html text/css",
        "compress = { codings = \"gzip\", types = [\"text/html\", \"text/css\"] }",
        false,
    ),
    (
        "bind 127.0.0.1:81 accept-proxy",
        "accept-proxy = { from = [\"0.0.0.0/0\", \"::/0\"] }",
        false,
    ),
    (
        "use_backend d if { path /a }\nbackend d\n mode http\n server s 10.0.0.3:80 send-proxy-v2",
        "send-proxy = \"v2\"",
        false,
    ),
    // Requests that needed a password are denied.
    (
        "http-request auth realm x if { path_beg /p } !{ http_auth(staff) }",
        "when = { path = \"/p*\" } deny = true",
        true,
    ),
    ("http-request deny if !{ http_auth(staff) } { path /p }", "deny = true", true),
];

const HAPROXY_FIELDS: &[ConversionCase] = &[
    ("use_backend c if { hdr_dom(host) -i api }", "when = { host-part = \"api\" }", false),
    ("use_backend c if { hdr_reg(host) ^a[0-9] }", "host-regex = \"(?i)a[0-9].*\"", false),
    (
        "use_backend c if { hdr(accept-language) de }",
        "header-list = \"accept-language: de\"",
        false,
    ),
    ("use_backend c if { req.fhdr(x-a) -m reg ^b }", "header-regex = \"x-a: b.*\"", false),
    (
        "use_backend c if { hdr(a) -i b } { hdr(c) d }",
        "header-list = \"c: d\", all = [{ header-list = \"a: b\", value-case = \"ignore\" }]",
        false,
    ),
    ("http-request set-header X-Real-IP %[src]", "set = \"X-Real-IP: {client}\"", false),
    ("http-request set-header X-Id %[req.hdr(x-b)]", "set = \"X-Id: {header.x-b}\"", true),
    ("http-request set-header X-Id %[var(txn.a)]", "remove = \"X-Id\"", true),
    (
        "http-request set-header X-Forwarded-Proto https if { ssl_fc }",
        "set = \"X-Forwarded-Proto: {scheme}\"",
        false,
    ),
    ("option forwardfor", "client-field = { name = \"X-Forwarded-For\", mode = \"add\" }", false),
    (
        "option forwardfor except 127.0.0.0/8 header X-Client if-none",
        "{ name = \"X-Client\", mode = \"if-absent\", except = [\"127.0.0.0/8\"] }",
        false,
    ),
    (
        "http-request set-header X-Forwarded-Proto https if !{ ssl_fc }",
        "set = \"X-Forwarded-Proto: https\"",
        false,
    ),
    ("http-request set-header Content-Length 5", "pool = \"b\"", true),
    ("http-response set-header X-J \"{a} b\"", "response-set = \"X-J: {a} b\"", false),
    ("http-response add-header X-J \"{a} b\"", "response-add = \"X-J: {{a} b\"", false),
    ("option forwardfor sometimes", "mode = \"add\"", true),
    ("bind 127.0.0.1:82 ssl crt /c.pem strict-sni", "unknown-sni = \"require\"", false),
];

#[test]
fn haproxy_fields_are_compared_and_written() {
    rows(Dialect::Haproxy, HAPROXY_FIELDS);
}

#[test]
fn rules_of_connections_stand_before_what_accepts_their_content() {
    let directives = "tcp-request content accept if { path /a }\n tcp-request connection reject if { src 10.0.0.0/8 }";
    rows(
        Dialect::Haproxy,
        &[(directives, "when = { client = \"10.0.0.0/8\" } deny = true", false)],
    );
}

#[test]
fn haproxy_connections_and_answers() {
    rows(Dialect::Haproxy, HAPROXY_CONNECTIONS_AND_ANSWERS);
}

const REFUSALS: &[ConversionCase] = &[
    // A part that cannot be expressed counts as true, even if it is negated.
    ("http-request deny if { path /p } { src -f /x }", "{ path = \"/p\" } deny = true", true),
    ("http-request deny if { path /p } !{ src -f /x }", "{ path = \"/p\" } deny = true", true),
    ("acl x unheard_of y\n http-request deny if x", "deny = true", true),
    ("acl x src -f /x\n http-request deny unless x", "deny = true", true),
    ("http-request deny if { path /p } or { src -f /x }", "deny = true", true),
    ("http-request tarpit if { path /p }", "{ path = \"/p\" } deny = true", false),
    ("http-request silent-drop if { path /p }", "{ path = \"/p\" } deny = true", false),
    ("http-request auth if { src -f /x }", "deny = true", true),
    // Rate limits that cannot be expressed deny everything until an operator replaces them.
    ("http-request deny if { sc_http_req_rate(0) gt 20 }", "deny = true", true),
    ("http-request deny unless { src_conn_rate lt 20 }", "deny = true", true),
    ("http-request deny if { sc_http_req_rate(0) gt 20 } or { src -f /x }", "deny = true", true),
    // An `allow` that cannot be expressed allows nothing.
    (
        "http-request allow if { src -f /x }\n http-request deny if { path /p }",
        "when = { path = \"/p\" } deny = true",
        true,
    ),
];

#[test]
fn refusals_that_cannot_be_written_stay_closed() {
    rows(Dialect::Haproxy, REFUSALS);
}

const LISTENERS: &[ConversionCase] = &[
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
];

#[test]
fn listeners_open_what_they_opened() {
    rows(Dialect::Haproxy, LISTENERS);
}

/// The connections of each backend have the time of its servers, if that is shorter than the clients'.
#[test]
fn each_backend_of_bytes_has_its_own_time() {
    let text = "defaults\n mode tcp\n timeout client 1h\nfrontend f\n bind 127.0.0.1:80\n\
                use_backend c if { src 10.0.0.0/8 }\n default_backend b\n\
                backend b\n timeout server 30s\n server s 10.0.0.1:80\n\
                backend c\n timeout server 5m\n server s 10.0.0.2:80\n";
    let result = convert::run::convert(text, "x", Dialect::Haproxy);
    let toml = result.text.unwrap();
    model::config::load(&toml, "x").unwrap();
    assert!(toml.contains("tunnel = \"30s\"") && toml.contains("{ tunnel = \"5m\" }"), "{toml}");
    let left = |kind| result.notes.iter().any(|note| note.kind == kind);
    assert!(!left(convert::notes::NoteKind::LeftOut), "{:?}", result.notes);
    assert_eq!(result.unsettled, 0);
}
