//! What HAProxy and nginx do where their files say nothing is written out where Steelyard does otherwise.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

/// A part of a file, and what is written for it.
struct ValueCase {
    source: &'static str,
    written: &'static [&'static str],
    absent: &'static [&'static str],
}

const fn case(source: &'static str, written: &'static [&'static str]) -> ValueCase {
    ValueCase { source, written, absent: &[] }
}

const fn without(source: &'static str, absent: &'static [&'static str]) -> ValueCase {
    ValueCase { source, written: &[], absent }
}

fn check(dialect: Dialect, text: &str, one: &ValueCase) {
    let result = convert(text, "x", dialect);
    assert_eq!(result.unsettled, 0, "{text}: {:?}", result.notes);
    let toml = result.text.unwrap_or_default();
    model::config::load(&toml, "x").unwrap_or_else(|findings| panic!("{text}: {findings}\n{toml}"));
    for part in one.written {
        assert!(toml.contains(part), "{text}: no {part} in\n{toml}");
    }
    for part in one.absent {
        assert!(!toml.contains(part), "{text}: {part} in\n{toml}");
    }
}

const TWO: &str = "server s 10.0.0.1:80 check\n server t 10.0.0.2:80 check";
const EJECT_OFF: &str = "eject = \"off\"";

/// Lines of a backend with `mode http`.
const BACKENDS: &[ValueCase] = &[
    // Checks wait as long as the time between two, also while a server rises or falls.
    case(TWO, &["interval = \"2s\", timeout = \"2s\", fast-interval = \"2s\"", EJECT_OFF]),
    case(
        "server s 10.0.0.1:80 check inter 10s fastinter 1s",
        &["interval = \"10s\", timeout = \"10s\", fast-interval = \"1s\""],
    ),
    case("timeout check 500ms\n server s 10.0.0.1:80 check", &["timeout = \"500ms\""]),
    // Without `observe` no answer puts a server out, and connections do that by themselves.
    case("server s 10.0.0.1:80", &[EJECT_OFF]),
    case("server s 10.0.0.1:80 check observe layer4 on-error mark-down", &[EJECT_OFF]),
    // It is not observed without checks, and more checks put nothing out.
    case("server s 10.0.0.1:80 observe layer7 on-error mark-down", &[EJECT_OFF]),
    case("server s 10.0.0.1:80 check observe layer7 on-error fastinter", &[EJECT_OFF]),
    case(
        "server s 10.0.0.1:80 check inter 1s rise 3 observe layer7 error-limit 5 on-error mark-down",
        &[
            "eject = { failures = 5, rate = 100, truncation-rate = 100, min-requests = 5, base-time = \"3s\", max-time = \"3s\", max-percent = 99, on = [500, \"502-504\", \"506-599\"] }",
        ],
    ),
    // So many errors are one failed check.
    case(
        "server s 10.0.0.1:80 check fall 2 observe layer7",
        &["eject = { failures = 20,", "time = \"4s\""],
    ),
    case(
        "server s 10.0.0.1:80 check observe layer7\n server t 10.0.0.2:80 check observe layer7 error-limit 2 on-error sudden-death",
        &["eject = { failures = 2,"],
    ),
];

#[test]
fn checks_and_passive_checks_of_haproxy_are_written_out() {
    for one in BACKENDS {
        let text = format!(
            "defaults\n mode http\nfrontend f\n bind 127.0.0.1:80\n default_backend b\nbackend b\n {}\n",
            one.source
        );
        check(Dialect::Haproxy, &text, one);
    }
    let bytes = without(TWO, &["eject", "header-bytes"]);
    let text = format!("listen l\n mode tcp\n bind 127.0.0.1:80\n {}\n", bytes.source);
    check(Dialect::Haproxy, &text, &bytes);
}

#[test]
fn a_check_that_is_given_up_earlier_is_reported() {
    let text = "listen l\n mode http\n bind 127.0.0.1:80\n timeout check 5s\n server s 10.0.0.1:80 check\n";
    let result = convert(text, "x", Dialect::Haproxy);
    let found = result.notes.iter().find(|note| note.line == 4).unwrap();
    assert_eq!(found.kind, NoteKind::Changed, "{found:?}");
    assert!(found.reason.contains("the time between two"), "{found:?}");
}

/// Lines of the section `global`.
const HEADS: &[ValueCase] = &[
    case(
        "nbthread 2",
        &["limit = { header-bytes = \"15KiB\", target-bytes = \"15KiB\", queue = 1000000 }"],
    ),
    case("tune.bufsize 32768", &["header-bytes = \"31KiB\", target-bytes = \"31KiB\""]),
    case(
        "tune.bufsize 8192\n tune.maxrewrite 8192\n tune.http.maxhdr 51",
        &["header-bytes = \"4KiB\", target-bytes = \"4KiB\", header-count = 50"],
    ),
    case("tune.bufsize 1048576", &["header-bytes = \"60KiB\""]),
];

#[test]
fn heads_are_as_long_as_for_haproxy() {
    for one in HEADS {
        let text = format!(
            "global\n {}\nlisten l\n mode http\n bind 127.0.0.1:80\n server s 10.0.0.1:80\n",
            one.source
        );
        check(Dialect::Haproxy, &text, one);
    }
}

/// Servers of an upstream.
const UPSTREAMS: &[ValueCase] = &[
    case(
        "server 10.0.0.1; server 10.0.0.2;",
        &[
            "eject = { failures = 1, rate = 100, truncation-rate = 100, min-requests = 1, base-time = \"10s\", max-time = \"10s\", max-percent = 99, on = [100] }",
        ],
    ),
    case(
        "server 10.0.0.1 max_fails=3 fail_timeout=30s; server 10.0.0.2 max_fails=5;",
        &["eject = { failures = 3,", "time = \"30s\""],
    ),
    case("server 10.0.0.1 max_fails=0; server 10.0.0.2 max_fails=0;", &[EJECT_OFF]),
    case("server 10.0.0.1 fail_timeout=0; server 10.0.0.2 max_fails=0;", &[EJECT_OFF]),
    // nginx never puts the only server out, and neither does Steelyard.
    without("server 10.0.0.1;", &["eject"]),
];

#[test]
fn failures_put_servers_out_as_nginx_does() {
    for one in UPSTREAMS {
        let text = format!(
            "http {{ upstream b {{ {} }} server {{ listen 127.0.0.1:80; location / {{ proxy_pass http://b; }} }} }}",
            one.source
        );
        check(Dialect::Nginx, &text, one);
    }
    let statuses = case(
        "proxy_next_upstream error http_404 http_503 http_500;",
        &["eject = { failures = 1,", "on = [503, 500] }"],
    );
    let text = format!(
        "http {{ upstream b {{ server 10.0.0.1; server 10.0.0.2; }} server {{ listen 127.0.0.1:80; location / {{ {} proxy_pass http://b; }} }} }}",
        statuses.source
    );
    check(Dialect::Nginx, &text, &statuses);
}

/// Directives of a server.
const SERVERS: &[ValueCase] = &[
    case(
        "",
        &[
            "response-remove = [\"Server\", \"X-Pad\", \"X-Accel-Expires\", \"X-Accel-Redirect\", \"X-Accel-Limit-Rate\", \"X-Accel-Buffering\", \"X-Accel-Charset\"]",
            "limit = { body-bytes = \"1MiB\" }",
        ],
    ),
    without("proxy_pass_header X-Accel-Redirect;", &["X-Accel-Redirect"]),
    case(
        "large_client_header_buffers 4 16k;",
        &["limit = { body-bytes = \"1MiB\", header-bytes = \"60KiB\", target-bytes = \"16KiB\" }"],
    ),
    case(
        "large_client_header_buffers 2 4k;",
        &["header-bytes = \"8KiB\", target-bytes = \"4KiB\""],
    ),
];

#[test]
fn heads_of_nginx_are_limited_as_written_and_its_own_fields_stay_with_it() {
    for one in SERVERS {
        let text = format!(
            "http {{ server {{ listen 127.0.0.1:80; {} location / {{ proxy_pass http://10.0.0.1; }} }} }}",
            one.source
        );
        check(Dialect::Nginx, &text, one);
    }
    let invalid = "http { server { listen 127.0.0.1:80; large_client_header_buffers a 4k; location / { proxy_pass http://10.0.0.1; } } }";
    let result = convert(invalid, "x", Dialect::Nginx);
    assert!(result.notes.iter().any(|note| note.kind == NoteKind::LeftOut), "{:?}", result.notes);
}

#[test]
fn unusual_names_of_fields_are_restricted_as_haproxy_does() {
    for (word, written) in [("delete", "drop"), ("reject", "refuse"), ("preserve", "any")] {
        let text = format!(
            "listen l\n mode http\n bind 127.0.0.1:80\n option http-restrict-req-hdr-names {word}\n server s 10.0.0.1:80\n"
        );
        let toml = convert(&text, "x", Dialect::Haproxy).text.unwrap();
        assert!(toml.contains(&format!("field-names = \"{written}\"")), "{toml}");
    }
}

#[test]
fn comments_of_checks_are_no_part_of_them() {
    for (checks, probe) in [
        (
            "tcp-check connect port 81 comment a\n tcp-check send PING\\r\\n comment \"say ping\"\n tcp-check expect string +PONG comment c",
            "tcp = true, port = 81, send = \"PING\\r\\n\", expect = \"\\\\+PONG\"",
        ),
        ("tcp-check expect comment greeting rstring ^220", "tcp = true, expect = \"^220\""),
    ] {
        let text = format!(
            "listen l\n mode tcp\n bind 127.0.0.1:80\n option tcp-check\n {checks}\n server s 10.0.0.1:80 check\n"
        );
        let result = convert(&text, "x", Dialect::Haproxy);
        let toml = result.text.unwrap();
        assert!(toml.contains(probe), "{toml}\n{:?}", result.notes);
        assert!(!result.notes.iter().any(|note| note.kind == NoteKind::LeftOut));
    }
    let text = "listen l\n mode http\n bind 127.0.0.1:80\n option httpchk\n http-check send meth GET uri /up comment a\n http-check expect comment b status 204\n server s 10.0.0.1:80 check\n";
    let result = convert(text, "x", Dialect::Haproxy);
    let toml = result.text.unwrap();
    assert!(toml.contains("status = [204], http = \"/up\""), "{toml}");
    assert!(!result.notes.iter().any(|note| note.kind == NoteKind::LeftOut), "{:?}", result.notes);
}
