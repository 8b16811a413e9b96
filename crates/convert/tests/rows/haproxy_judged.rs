//! What rules of HAProxy judge by: fields that were changed before them, and values as they are compared.

use convert::dialect::Dialect;
use convert::run::convert;

use super::super::{ConversionCase, rows};

/// Behind `set-src` nobody knows the client's address: neither rules, nor backends, nor values.
const OTHER_CLIENTS: &[ConversionCase] = &[
    (
        "http-request set-src hdr(x-a)\n default_backend d\nbackend d\n mode http\n server s 10.0.0.3:80\n http-request deny if { src 6.6.6.6 }",
        "[[service.f.rule]] deny = true",
        true,
    ),
    (
        "tcp-request connection set-src hdr(x-a)\n use_backend c if { src 6.6.6.6 } { path /a }",
        "when = { path = \"/a\" } deny = true",
        true,
    ),
    (
        "http-request set-src hdr(x-a)\n http-request set-header X-Real-IP %[src]",
        "rewrite = { remove = \"X-Real-IP\" }",
        true,
    ),
    (
        "http-request set-src hdr(x-a)\n http-response set-header X-Client %ci",
        "rewrite = { response-remove = \"X-Client\" }",
        true,
    ),
    (
        "http-request set-src hdr(x-a)\n option forwardfor",
        "rewrite = { remove = \"X-Forwarded-For\" }",
        true,
    ),
    (
        "http-request set-src hdr(x-a)\n default_backend d\nbackend d\n mode http\n server s 10.0.0.3:80 send-proxy",
        "[[service.f.rule]] answer = 502",
        true,
    ),
    // What stands before it judges by who connects.
    (
        "http-request deny if { src 6.6.6.6 }\n http-request set-src hdr(x-a)",
        "when = { client = \"6.6.6.6\" } deny = true",
        true,
    ),
    // A listener that awaits a header from some.
    ("tcp-request connection expect-proxy layer4", "[[service.f.rule]] deny = true", true),
];

/// A rule about a field that is changed before it in a way that cannot be written counts as one that cannot be written.
const CHANGED_FIELDS: &[ConversionCase] = &[
    (
        "http-request set-header X-Country %[src,map_ip(/x.map,XX)]\n http-request deny if { req.hdr(X-Country) -m str RU }",
        "[[service.f.rule]] deny = true",
        true,
    ),
    (
        "http-request set-header X-Bot 1 if { src -f /x }\n http-request deny if { hdr(x-bot) 1 } { path /a }",
        "when = { path = \"/a\" } deny = true",
        true,
    ),
    (
        "http-request add-header X-Bot 1 if { src -f /x }\n http-request deny if { hdr(x-bot) -m found }",
        "[[service.f.rule]] deny = true",
        true,
    ),
    (
        "http-request del-header X-Bot unless { src -f /x }\n http-request deny if { hdr(x-bot) -m found }",
        "[[service.f.rule]] deny = true",
        true,
    ),
    (
        "http-request replace-value X-Bot a b\n http-request deny if { hdr_cnt(x-bot) gt 0 }",
        "[[service.f.rule]] deny = true",
        true,
    ),
    (
        "http-request replace-header Cookie ^(.)$ x\\1\n http-request deny if { req.cook(a) b }",
        "[[service.f.rule]] deny = true",
        true,
    ),
    // The choice of a backend.
    (
        "http-request set-header X-Tenant %[path,field(2,/)]\n use_backend c if { hdr(x-tenant) api }",
        "[[service.f.rule]] deny = true",
        true,
    ),
    (
        "http-request set-header Host %[path,field(2,/)]\n use_backend c if { hdr(host) in.example }",
        "[[service.f.rule]] deny = true",
        true,
    ),
    (
        "http-request set-header Host %[path,field(2,/)]\n redirect scheme https if { path /a }",
        "when = { path = \"/a\" } deny = true",
        true,
    ),
    // What is let through.
    (
        "http-request set-header X-A %[path,field(2,/)]\n http-request allow unless { hdr(x-a) -m found }\n http-request deny if { path /b }",
        "when = { path = \"/b\" } deny = true",
        true,
    ),
    // Chains.
    (
        "http-request set-header X-Bot 1 if { src -f /x }\n http-request set-header X-C yes if { hdr(x-bot) 1 }\n http-request deny if { hdr(x-c) yes }",
        "[[service.f.rule]] deny = true",
        true,
    ),
    (
        "http-request set-header X-Bot 1 if { src -f /x }\n http-request del-header X-A if { hdr(x-bot) 1 }",
        "rewrite = { remove = [\"X-Bot\", \"X-A\"] }",
        true,
    ),
    (
        "http-request set-header X-Bot 1 if { src -f /x }\n http-request set-header X-C %[req.hdr(x-bot)]",
        "rewrite = { remove = [\"X-Bot\", \"X-C\"] }",
        true,
    ),
    // A later change that is written is seen.
    (
        "http-request set-header X-Bot 1 if { src -f /x }\n http-request set-header X-Bot 2\n http-request deny if { hdr(x-bot) 1 }",
        "when = { header-list = \"x-bot: 1\" } deny = true",
        true,
    ),
    // What stands before the change does not see it.
    (
        "http-request deny if { hdr(x-bot) 1 }\n http-request set-header X-Bot 1 if { src -f /x }",
        "when = { header-list = \"x-bot: 1\" } deny = true",
        true,
    ),
    // The removal wins over an earlier value.
    (
        "http-request set-header X-Role admin\n http-request set-header X-Role guest unless { src -f /x }",
        "after-rules = true rewrite = { remove = \"X-Role\" }",
        true,
    ),
    // Who was let through was judged before a change.
    (
        "http-request allow if { hdr(x-b) -m found }\n http-request set-header X-B 1\n http-request deny if { path /admin }",
        "when = { path = \"/admin\" } deny = true",
        true,
    ),
    (
        "http-request allow if { hdr(x-b) -m found }\n http-request set-header X-B 1\n http-request del-header X-A",
        "remove = \"X-A\"",
        true,
    ),
];

/// Values are compared as HAProxy compares them, or the part counts as unknown.
const COMPARED_VALUES: &[ConversionCase] = &[
    ("http-request deny if { req.hdr(x-n) -m int gt 5 }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { hdr(x-n) -m ip 10.0.0.0/8 }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { hdr(host) -m ip 10.0.0.1 }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { urlp(id) -m int 4:8 }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { cook(id) -m int 5 }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { src -m str 10.0.0.0/8 }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { src -m ip 10.0.0.0/8 }", "client = \"10.0.0.0/8\" } deny", false),
    ("http-request deny if { src_port gt 1024 }", "client-port = \"1025-65535\" } deny", false),
    ("http-request deny if { src_port lt 10 5000:6000 }", "[[service.f.rule]] deny = true", true),
    (
        "http-request deny if { src_port lt 10 ge 5000 }",
        "any = [{ client-port = \"1-9\" }, { client-port = \"5000-65535\" }] } deny",
        false,
    ),
    ("http-request deny if { src_port 80 }", "client-port = \"80\" } deny", false),
    ("http-request deny if { src_port ge 1 }", "[[service.f.rule]] deny = true", false),
    ("http-request deny if { hdr_cnt(a) 0 1 }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { hdr_cnt(a) ge 2 }", "when = { header = \"a\" } deny", true),
    ("http-request deny if { hdr_cnt(a) 0 ge 1 }", "[[service.f.rule]] deny = true", false),
    ("http-request deny if { hdr_cnt(host) 0 1 }", "[[service.f.rule]] deny = true", false),
    (
        "http-request deny if { nbsrv(c) 0 1 }",
        "any = [{ servers = { of = \"c\", up = \"0\" } }, { servers = { of = \"c\", up = \"1\" } }]",
        false,
    ),
    (
        "http-request deny if { fe_conn 0 gt 5 }",
        "any = [{ active = \"0\", scope = \"service\" }, { active = \"6-\", scope = \"service\" }]",
        false,
    ),
    ("http-request deny if { fe_conn -m str 5 }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { method -m beg P }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { method -m reg -i ^p }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { method -m found }", "[[service.f.rule]] deny = true", false),
    ("http-request deny if { method -i POST }", "method = \"POST\" } deny", false),
    ("http-request deny if { method -m str POST }", "method = \"POST\" } deny", false),
    ("http-request deny unless { ssl_fc 0 }", "[[service.f.rule]] deny = true", false),
    ("http-request deny if { ssl_fc -m int lt 1 }", "[[service.f.rule]] deny = true", false),
    ("http-request deny if { ssl_fc -m int 0 1 }", "[[service.f.rule]] deny = true", false),
    // Rules see paths decoded.
    (
        "http-request deny if { path_sub -i %3c }",
        "path-regex = [\"(?i).*%3C.*\", \"(?i).*<.*\"] } deny",
        true,
    ),
    ("http-request deny unless { path_sub %3c }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { path_beg /a%2fb }", "path = \"/a%2Fb*\" } deny", false),
    ("http-request deny if { path_reg % }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { path_reg %[0-9a-f]{2} }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { path_reg [^a-z/] }", "[[service.f.rule]] deny = true", true),
    ("http-request deny if { path_reg ^/[^/]+/a }", "path-regex = \"/[^/]+/a.*\" } deny", false),
    // A suffix is forgotten beside a converter.
    ("http-request deny unless { path_beg,lower /adm }", "path-regex = \"(?i)/adm\"", false),
    (
        "use_backend c if { hdr_beg(host),lower api.example }",
        "host = \"api.example\" } pool = \"c\"",
        false,
    ),
    ("http-request deny if { path,lower -m beg /adm }", "path-regex = \"(?i)/adm.*\"", false),
    ("http-request deny unless { path,lower -m str /Public }", "[[service.f.rule]] deny", false),
    ("http-request deny unless { path,upper -m str /public }", "[[service.f.rule]] deny", false),
    ("http-request deny unless { path,lower -m reg ^/[A-Z] }", "[[service.f.rule]] deny", true),
    ("http-request deny if { path,lower -i /Public }", "path-regex = \"(?i)/Public\"", false),
];

#[test]
fn clients_that_nobody_knows_close() {
    rows(Dialect::Haproxy, OTHER_CLIENTS);
}

#[test]
fn fields_that_nobody_knows_close() {
    rows(Dialect::Haproxy, CHANGED_FIELDS);
}

#[test]
fn values_are_compared_as_they_were() {
    rows(Dialect::Haproxy, COMPARED_VALUES);
}

#[test]
fn a_backend_judges_by_what_the_frontend_changed() {
    let file = |front: &str, back: &str| {
        let text = format!(
            "frontend f\n mode http\n bind 127.0.0.1:80\n {front}\n default_backend b\n\
             backend b\n mode http\n {back}\n server s 10.0.0.1:80\n"
        );
        convert(&text, "x", Dialect::Haproxy).text.unwrap_or_default()
    };
    let closed = file(
        "http-request set-header X-Bot 1 if { src -f /x }",
        "http-request deny if { hdr(x-bot) 1 } { path /a }",
    );
    assert!(closed.contains("when = { path = \"/a\" }\ndeny = true"), "{closed}");
    let removed = file(
        "http-request set-header X-Role admin",
        "http-request set-header X-Role guest unless { src -f /x }",
    );
    assert!(removed.contains("rewrite = { remove = \"X-Role\" }"), "{removed}");
    let allowed = file(
        "",
        "http-request allow if { hdr(x-b) -m found }\n http-request set-header X-B 1\n http-request deny if { path /admin }",
    );
    assert!(allowed.contains("when = { path = \"/admin\" }\ndeny = true"), "{allowed}");
}
