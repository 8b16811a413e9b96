//! Changes of fields by HAProxy under conditions, and their order among themselves and among rules.

use convert::dialect::Dialect;
use convert::run::convert;

use super::{ConversionCase, rows};

/// What cannot be set in an answer takes out what servers send.
const UNSET_ANSWERS: &[ConversionCase] = &[
    (
        "http-response set-header X-R %[res.hdr(x-r)]2",
        "rewrite = { response-remove = \"X-R\" }",
        true,
    ),
    (
        "http-response set-header X-R a if { rand(2) 0 }",
        "rewrite = { response-remove = \"X-R\" }",
        true,
    ),
    ("http-response replace-header X-R v(.*) w\\1", "response-remove = \"X-R\"", true),
    ("http-response set-header Content-Type %[res.hdr(x-r)]", "pool = \"b\"", true),
    // HAProxy has no path when the answer comes.
    ("http-response set-header X-R a if { path /a }", "pool = \"b\"", false),
    (
        "http-response set-header X-R a unless { path /a }",
        "rewrite = { response-set = \"X-R: a\" }",
        false,
    ),
];

#[test]
fn what_cannot_be_set_in_an_answer_is_removed() {
    rows(Dialect::Haproxy, UNSET_ANSWERS);
}

const REQUESTS: &[ConversionCase] = &[
    (
        "http-request set-header X-Role admin if { path /a }",
        "[[service.f.edit]] when = { path = \"/a\" } after-rules = true rewrite = { set = \"X-Role: admin\" }",
        false,
    ),
    (
        "http-request del-header X-Role unless { src 10.0.0.1 }",
        "when = { not = { client = \"10.0.0.1\" } } after-rules = true rewrite = { remove = \"X-Role\" }",
        false,
    ),
    (
        "http-request add-header X-Role %[src] if { method GET }",
        "when = { method = \"GET\" } after-rules = true rewrite = { add = \"X-Role: {client}\" }",
        false,
    ),
    (
        "http-request set-header X-Proto %[ssl_fc,iif(https,http)]",
        "set = \"X-Proto: {scheme}\"",
        false,
    ),
    // The listener has no TLS.
    (
        "http-request set-header X-Role a if !{ ssl_fc }",
        "pool = \"b\" rewrite = { set = \"X-Role: a\" }",
        false,
    ),
    // What cannot be written takes out what clients send, where it may apply.
    (
        "http-request set-header X-Role a if { src -f /x }",
        "rewrite = { remove = \"X-Role\" }",
        true,
    ),
    ("http-request del-header X-Role if { src -f /x }", "rewrite = { remove = \"X-Role\" }", true),
    (
        "http-request del-header X-Role if { path /a } { src -f /x }",
        "when = { path = \"/a\" } after-rules = true rewrite = { remove = \"X-Role\" }",
        true,
    ),
    (
        "http-request set-header X-Role %[var(txn.a)] if { path /a }",
        "when = { path = \"/a\" } after-rules = true rewrite = { remove = \"X-Role\" }",
        true,
    ),
    (
        "http-request set-header X-Role a if { nbsrv(b) gt 1 }",
        "rewrite = { remove = \"X-Role\" }",
        true,
    ),
    (
        "http-request set-header X-Role a if { path_reg ( }",
        "rewrite = { remove = \"X-Role\" }",
        true,
    ),
    // Nothing of clients is left under that name.
    (
        "http-request set-header X-Role a\n http-request set-header X-Role b if { src -f /x }",
        "pool = \"b\" rewrite = { set = \"X-Role: a\" }",
        true,
    ),
    (
        "http-request del-header X- -m beg if { path /a }",
        "when = { path = \"/a\" } answer = 502",
        true,
    ),
    ("http-request del-header X-Role -m str", "rewrite = { remove = \"X-Role\" }", false),
    (
        "http-request replace-header X-A ^b.*c$ d",
        "when = { header-regex = \"X-A: b.*c\" } after-rules = true rewrite = { set = \"X-A: d\" }",
        false,
    ),
    (
        "http-request replace-header X-A (.*) b\\1",
        "when = { header = \"X-A\" } after-rules = true rewrite = { set = \"X-A: b{header.x-a}\" }",
        false,
    ),
    (
        "http-request replace-header X-A ^b(.*) c\\1",
        "when = { header-regex = \"X-A: b(.*).*\" } after-rules = true rewrite = { remove = \"X-A\" }",
        true,
    ),
    ("http-request replace-value X-A b c", "rewrite = { remove = \"X-A\" }", true),
    ("http-request replace-header Host ^(.*):80$ \\1", "pool = \"b\"", true),
    // Whom an earlier rule lets through keeps the field.
    (
        "http-request allow if { src 10.0.0.1 }\n http-request set-header X-Role a",
        "when = { not = { client = \"10.0.0.1\" } } after-rules = true rewrite = { set = \"X-Role: a\" }",
        false,
    ),
];

#[test]
fn changes_of_requests_have_their_conditions() {
    rows(Dialect::Haproxy, REQUESTS);
}

const ORDERS: &[ConversionCase] = &[
    // Rules before a change see the field of the client, and rules behind it the new one.
    (
        "http-request deny if { hdr(x-a) -m found }\n http-request set-header X-A 1 if { src 10.0.0.1 }",
        "when = { client = \"10.0.0.1\" } after-rules = true",
        false,
    ),
    (
        "http-request set-header X-A 1 if { src 10.0.0.1 }\n use_backend c if { hdr(x-a) 1 }",
        "when = { client = \"10.0.0.1\" } rewrite = { set = \"X-A: 1\" }",
        false,
    ),
    (
        "http-request del-header X_A\n use_backend c if { hdr(x-a) 1 }",
        "[[service.f.edit]] rewrite = { remove = \"X_A\" }",
        false,
    ),
    (
        "http-request set-header Host a.example if { path /a }\n http-request redirect scheme https if { path /b }",
        "[[service.f.edit]] when = { path = \"/a\" } rewrite = { host = \"a.example\" }",
        false,
    ),
    // No rule can see both.
    (
        "http-request deny if { hdr(x-a) b }\n http-request del-header X-A\n http-request deny if { hdr(x-a) c } { path /a }",
        "when = { path = \"/a\" } deny = true",
        true,
    ),
    (
        "http-request deny if { hdr(x-a) b }\n http-request del-header X-A\n use_backend c if { hdr(x-a) c }",
        "pool = \"b\" rewrite = { remove = \"X-A\" }",
        true,
    ),
    // A change that another one looks at is made in its order.
    (
        "http-request set-header X-A 1 if { hdr(x-b) -m found }\n http-request del-header X-B",
        "when = { header-list = \"x-b\" } after-rules = true rewrite = { set = \"X-A: 1\" }  # x:6 http-request del-header X-B [[service.f.edit]] after-rules = true rewrite = { remove = \"X-B\" }",
        false,
    ),
    (
        "http-request set-header X-A 1\n http-request set-header X-A 2",
        "pool = \"b\" rewrite = { set = \"X-A: 2\" }",
        false,
    ),
    (
        "http-request set-header X-A 1\n http-request set-header X-A 2 if { path /a }",
        "when = { path = \"/a\" } after-rules = true rewrite = { set = \"X-A: 2\" }",
        false,
    ),
];

#[test]
fn changes_and_rules_keep_their_order() {
    rows(Dialect::Haproxy, ORDERS);
}

const ANSWERS: &[ConversionCase] = &[
    (
        "http-response set-header X-A 1 if { status 500:503 }",
        "when-response = { statuses = [\"500-503\"] } after-rules = true rewrite = { response-set = \"X-A: 1\" }",
        false,
    ),
    (
        "http-response set-header X-A 1 if !{ res.hdr(X-A) -m found } { src 10.0.0.1 }",
        "when = { client = \"10.0.0.1\" } when-response = { without = [\"X-A\"] } after-rules = true rewrite = { response-set = \"X-A: 1\" }",
        false,
    ),
    (
        "http-response del-header Server if { status 404 } or { res.hdr(X-B) -m found }",
        "when-response = { header = [\"X-B\"] } after-rules = true rewrite = { response-remove = \"Server\" }",
        false,
    ),
    (
        "http-response add-header X-A 1 if { status 404 } or { res.hdr(X-B) -m found }",
        "forward = \"http\"",
        true,
    ),
    (
        "http-response set-header X-A %[src]",
        "rewrite = { response-add = \"X-A: {client}\", response-remove = \"X-A\" }",
        false,
    ),
    (
        "http-response allow if { status 404 }\n http-response set-header X-A 1",
        "when-response = { statuses = [\"100-403\", \"405-599\"] } after-rules = true rewrite = { response-set = \"X-A: 1\" }",
        false,
    ),
    (
        "http-response allow if { status 404 }\n http-response deny if { src 10.0.0.1 }",
        "when = { client = \"10.0.0.1\" } answer = 502",
        true,
    ),
    (
        "http-response replace-header Server .* s",
        "when-response = { header = [\"Server\"] } after-rules = true rewrite = { response-set = \"Server: s\" }",
        false,
    ),
    ("http-response replace-header Set-Cookie (.*) \\1;x", "forward = \"http\"", true),
    // The request is gone.
    ("http-response set-header X-A 1 if { path /a }", "forward = \"http\"", false),
    ("http-response set-header X-A %[req.hdr(x)]", "forward = \"http\"", true),
    ("http-response set-header X-A 1 if METH_GET", "forward = \"http\"", true),
    // An answer that is held back must not get out.
    (
        "http-response deny if { res.hdr(X-Secret) -m found } { src 10.0.0.1 }",
        "when = { client = \"10.0.0.1\" } answer = 502",
        true,
    ),
    ("http-response deny if { status 500 }", "answer = 502", true),
    ("tcp-response content reject if { status 500 }", "answer = 502", true),
    (
        "http-after-response set-header X-A 1",
        "[[service.f.edit]] rewrite = { response-add = [{ field = \"X-A: 1\", own = true }], response-remove = \"X-A\" }",
        false,
    ),
    (
        "http-after-response add-header X-A 1 if { status ge 500 }",
        "[[service.f.edit]] when-response = { statuses = [\"500-599\"] } rewrite = { response-add = [{ field = \"X-A: 1\", own = true }] }",
        false,
    ),
];

#[test]
fn changes_of_answers_have_their_conditions() {
    rows(Dialect::Haproxy, ANSWERS);
}

#[test]
fn changes_of_a_backend_come_after_those_of_the_frontend_and_for_its_pool_alone() {
    let text = "frontend f\n mode http\n bind 10.0.0.1:80\n http-request set-header X-A 1\n \
                http-response set-header X-C f if { status 200 }\n use_backend c if { path /c }\n default_backend b\n\
                backend b\n mode http\n http-request set-header X-A 2 if { method POST }\n \
                http-response set-header X-C b\n server s 10.0.0.2:80\n\
                backend c\n mode http\n server s 10.0.0.3:80\n";
    let converted = convert(text, "x", Dialect::Haproxy);
    let toml = converted.text.clone().unwrap_or_else(|| panic!("{:?}", converted.notes));
    model::config::load(&toml, "x").unwrap_or_else(|findings| panic!("{findings}"));
    let at = |what: &str| toml.find(what).unwrap_or_else(|| panic!("no {what} in\n{toml}"));
    let own = "when = { method = \"POST\" }\npool = \"b\"\nrewrite = { set = \"X-A: 2\" }";
    let answer = "when-response = { statuses = [\"200\"] }\nafter-rules = true\nrewrite = { response-set = \"X-C: f\" }";
    assert!(at(own) < at(answer), "{toml}");
    assert!(
        toml.contains("pool = \"b\"\nrewrite = { set = \"X-A: 1\", response-set = \"X-C: b\" }"),
        "{toml}"
    );
    assert!(toml.contains("pool = \"c\"\nrewrite = { set = \"X-A: 1\" }"), "{toml}");
}

/// More changes than a service may have refuse all requests: none of them may be lost.
#[test]
fn changes_that_are_too_many_refuse_all() {
    let one = |at: usize| format!(" http-request set-header X-{at} 1 if {{ path /{at} }}\n");
    let lines: String = (0..250).map(one).collect();
    let backend: String = (250..300).map(one).collect();
    let text = format!(
        "frontend f\n mode http\n bind 10.0.0.1:80\n{lines} default_backend b\n\
         backend b\n mode http\n{backend} server s 10.0.0.1:80\n"
    );
    let converted = convert(&text, "x", Dialect::Haproxy);
    let written = converted.text.unwrap_or_default();
    assert!(written.contains("answer = 502") && !written.contains(".edit]]"), "{written}");
    assert!(converted.left_out > 0);
}
