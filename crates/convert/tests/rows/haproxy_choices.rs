//! Choices of a backend or a server that cannot be written: what they may have meant is refused, and reported.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

use super::{ConversionCase, rows};

const CHOICES: &[ConversionCase] = &[
    // No part of the condition can be written.
    ("use_backend c if { hdr_cnt(x) gt 1 }", "when = { header = \"x\" } deny = true", true),
    ("use_backend c if unheard_of", "]] deny = true", true),
    ("use_backend c if { path -f /x }", "]] deny = true", true),
    ("use_backend c if { ssl_c_used }", "]] deny = true", true),
    ("use_backend c unless { src -f /x }", "]] deny = true", true),
    // A part that is written bounds what is refused, or is certainly taken.
    (
        "use_backend c if { path_beg /a } { src -f /x }",
        "when = { path = \"/a*\" } deny = true",
        true,
    ),
    (
        "use_backend c if { path /a } or { src -f /x }",
        "when = { path = \"/a\" } pool = \"c\"  # x:5 use_backend c if { path /a } or { src -f /x } [[service.f.rule]] deny = true",
        true,
    ),
    // The backend is not known before a request comes.
    ("use_backend %[req.hdr(host),lower,map(/m,b)]", "]] deny = true", true),
    (
        "use_backend bk_%[req.hdr(X-P)] if { path_beg /p }",
        "when = { path = \"/p*\" } deny = true",
        true,
    ),
    // All requests reach the same backend.
    ("use_backend b if { src -f /x }", "pool = \"b\"", false),
    // Answers of the frontend instead of a backend's.
    (
        "http-request redirect location /x if { src -f /x } { path /a }",
        "when = { path = \"/a\" } deny = true",
        true,
    ),
    (
        "http-request redirect location /%[src] if { path /a }",
        "when = { path = \"/a\" } answer = 502",
        true,
    ),
    (
        "http-request return status 200 string ok if { path /a } or { src -f /x }",
        "when = { path = \"/a\" } answer = { status = 200, body = \"ok\" }",
        true,
    ),
    (
        "http-request return status 200 lf-string %[src] if { path /a }",
        "when = { path = \"/a\" } deny = true",
        true,
    ),
    // Something else than a rule decides, or chooses where a request goes.
    (
        "http-request set-dst str(10.0.0.9) if { path /a }",
        "when = { path = \"/a\" } answer = 502",
        true,
    ),
    ("tcp-request content lua.check", "]] deny = true", true),
    (
        "tcp-request content use-service lua.x if { src 10.0.0.1 }",
        "when = { client = \"10.0.0.1\" } deny = true",
        true,
    ),
    (
        "tcp-request connection set-src hdr(x)\n http-request deny unless { src 10.0.0.1 }",
        "]] deny = true",
        true,
    ),
    // What servers answer is held back, or errors are answered otherwise.
    ("http-response return status 404 if { res.hdr(X-A) -m found }", "]] answer = 502", true),
    ("http-response return status 404 if { status 500:599 }", "pool = \"b\"", true),
    // Old words that choose a backend or change the path.
    ("reqsetbe ^GET.*/img c", "]] deny = true", true),
    ("reqrep ^([^:]*)/a(.*) \\1/b\\2", "]] answer = 502", true),
    ("reqirep ^X-A:(.*) X-A:b", "rewrite = { remove = \"X-A\" }", true),
];

#[test]
fn what_a_lost_choice_may_have_meant_is_refused() {
    rows(Dialect::Haproxy, CHOICES);
}

/// What a file becomes.
struct ConvertedFile {
    /// The configuration on one line.
    text: String,
    /// The lines of which something is left out.
    left_out: Vec<u32>,
}

fn converted(text: &str) -> ConvertedFile {
    let result = convert(text, "x", Dialect::Haproxy);
    let left = result.notes.iter().filter(|note| note.kind == NoteKind::LeftOut);
    let left_out = left.map(|note| note.line).collect();
    ConvertedFile { text: result.text.unwrap().replace('\n', " "), left_out }
}

#[test]
fn rules_of_a_backend_that_nobody_reaches_are_reported() {
    for choice in ["use_backend %[req.hdr(X)]", "use_backend c if { src -f /x }"] {
        let file = converted(&format!(
            "frontend f\n mode http\n bind 127.0.0.1:80\n {choice}\n default_backend b\nbackend b\n mode http\n server s 10.0.0.1:80\n\
             backend c\n mode http\n http-request deny if {{ path /a }}\n server s 10.0.0.2:80\n"
        ));
        assert!(file.text.contains("]] deny = true"), "{}", file.text);
        assert_eq!(file.left_out, [4, 11], "{choice}: {}", file.text);
    }
}

#[test]
fn one_server_of_a_backend_is_chosen_by_no_rule() {
    for (rule, written) in [
        ("use-server t if { hdr(X) 1 }", "when = { header-list = \"X: 1\" } deny = true"),
        ("use-server t if { src -f /x }", "]] deny = true"),
        ("use-server t", "]] deny = true"),
    ] {
        let file = converted(&format!(
            "frontend f\n mode http\n bind 127.0.0.1:80\n default_backend b\nbackend b\n mode http\n {rule}\n \
             server s 10.0.0.1:80\n server t 10.0.0.2:80\n"
        ));
        assert!(file.text.contains(written), "{rule}: {}", file.text);
        assert_eq!(file.left_out, [7], "{rule}");
    }
}

#[test]
fn a_frontend_of_bytes_follows_the_rules_of_its_backends() {
    let backend = |mode: &str, name: &str| {
        format!(
            "backend {name}\n mode {mode}\n http-request deny if {{ path /{name} }}\n server s 10.0.0.1:80\n"
        )
    };
    let file = |first: &str, second: &str| {
        let frontend = "frontend f\n mode tcp\n bind 127.0.0.1:80\n use_backend c if { src 10.0.0.1 }\n default_backend b\n";
        converted(&format!("{frontend}{}{}", backend(first, "b"), backend(second, "c")))
    };
    let upgraded = file("http", "http");
    assert!(upgraded.left_out.is_empty(), "{:?}", upgraded.left_out);
    for written in [
        "forward = \"http\"",
        "when = { path = \"/b\" } deny",
        "when = { client = \"10.0.0.1\", path = \"/c\" } deny",
    ] {
        assert!(upgraded.text.contains(written), "no {written} in {}", upgraded.text);
    }
    let default = "no default_backend with servers: what no rule took is refused [[service.f.rule]] deny = true";
    for (first, second, refused) in
        [("tcp", "http", "when = { client = \"10.0.0.1\" } deny = true"), ("http", "tcp", default)]
    {
        let refusing = file(first, second);
        assert!(refusing.text.contains("forward = \"tcp\""), "{}", refusing.text);
        assert!(refusing.text.contains(refused), "{}", refusing.text);
        // The choice, and the rule of its backend.
        assert!(refusing.left_out.len() >= 2, "{:?}", refusing.left_out);
    }
}

/// Conditions and answers of which HAProxy knows more: they are written as far as that opens nothing.
const COMPARED: &[ConversionCase] = &[
    ("http-request deny if { method TRACE CONNECT }", "when = { method = \"TRACE\" } deny", false),
    ("http-request deny if { path_sub %2e%2e }", "path-regex = [\".*%2E%2E.*\"", true),
    (
        "http-request deny if { hdr_reg(User-Agent) -i (curl|wget) }",
        "header-regex = \"User-Agent: (?i).*(?:(curl|wget)).*\" } deny",
        false,
    ),
    (
        "http-request deny if { hdr_reg(User-Agent) a.b }",
        "when = { header-regex = \"User-Agent: .*(?:a.b).*\" } deny",
        true,
    ),
    ("http-request deny unless { hdr_reg(User-Agent) a.b }", "]] deny", true),
    ("tcp-request content reject unless { req_ssl_hello_type 1 }", "]] deny", true),
    ("tcp-request content accept if { req_ssl_hello_type 1 }", "pool = \"b\"", false),
    (
        "http-request redirect location https://%[hdr(host)]%[capture.req.uri] if { path /a }",
        "redirect = { to = \"https://{host}{path}{query}\", status = 302 }",
        false,
    ),
    (
        "redirect location /a set-cookie S=1 if { path / }",
        "headers = \"Set-Cookie: S=1; path=/;\"",
        false,
    ),
    (
        "monitor-uri /up\n monitor fail if { nbsrv(b) lt 1 }",
        "when = { path = \"/up\", servers = { of = \"b\", up = \"0\" } } answer = 503",
        false,
    ),
    (
        "monitor-uri /up\n monitor fail if { src -f /x }",
        "when = { path = \"/up\" } answer = 503",
        true,
    ),
    (
        "monitor-uri /up\n tcp-request connection reject if { src 10.0.0.1 }",
        "client = \"10.0.0.1\" } deny = true  # x:5 monitor-uri",
        false,
    ),
    ("http-reuse never", "pool = \"b\"", false),
];

#[test]
fn listeners_are_told_apart_by_their_ports_and_their_tls() {
    let file = |condition: &str| {
        converted(&format!(
            "frontend f\n mode http\n bind 127.0.0.1:80\n bind 127.0.0.1:443 ssl crt /c.pem\n use_backend c if {{ {condition} }}\n\
             default_backend b\nbackend b\n mode http\n server s 10.0.0.1:80\nbackend c\n mode http\n server s 10.0.0.2:80\n"
        ))
    };
    let plain = "[[service.f.rule]] ";
    let tls = "[[service.f-tls.rule]] ";
    for (condition, written, unwritten) in [
        ("dst_port 80", "[[service.f.rule]] pool = \"c\"", tls),
        ("dst_port eq 443", "[[service.f-tls.rule]] pool = \"c\"", plain),
        (
            "ssl_fc_sni a.example",
            "[[service.f-tls.rule]] when = { sni = \"a.example\" } pool = \"c\"",
            plain,
        ),
    ] {
        let file = file(condition);
        assert!(file.text.contains(written), "{condition}: {}", file.text);
        assert!(!file.text.contains(unwritten), "{condition}: {}", file.text);
        assert!(file.left_out.is_empty(), "{condition}");
    }
    let unknown = file("dst_port gt 80");
    assert_eq!(unknown.text.matches("]] deny = true").count(), 2, "{}", unknown.text);
}

#[test]
fn conditions_and_answers_are_written_as_far_as_they_can_be() {
    rows(Dialect::Haproxy, COMPARED);
}
