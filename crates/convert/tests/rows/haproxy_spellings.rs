//! Spellings of HAProxy's files and of requests: escapes, letter case, ports of hosts, versions of TLS.

use convert::dialect::Dialect;
use convert::run::convert;

use super::super::{ConversionCase, rows};

const SPELLINGS: &[ConversionCase] = &[
    // The file's own escapes.
    ("http-request deny if { path_beg /\\x61dmin }", "when = { path = \"/admin*\" } deny", false),
    ("http-request set-header X-A a\\x20b", "set = \"X-A: a b\"", false),
    ("http-request deny if { path_reg \"^/admin\\$\" }", "path-regex = \"/admin\"", false),
    ("http-request set-header X-A a\\\\b", "set = \"X-A: a\\\\b\"", false),
    ("http-request set-header X-A a\u{a0}b", "set = \"X-A: a\u{a0}b\"", false),
    // A host's port, letter case and final dot.
    ("http-request deny if { hdr_reg(host) :8080$ }", "header-regex = \"host: .*:8080\"", false),
    (
        "http-request deny unless { hdr_reg(host) ^[^:]+$ }",
        "not = { header-regex = \"host: [^:]+\" }",
        false,
    ),
    ("http-request deny if { hdr_reg(host) ^SHOP }", "header-regex = \"host: SHOP.*\"", false),
    ("http-request deny if { hdr_reg(host) ^shop }", "host-regex = \"(?i)shop.*\"", false),
    // IPv4 clients are in networks of IPv6, too.
    ("http-request deny if { src ::/0 }", "client = [\"::/0\", \"0.0.0.0/0\"]", false),
    // One element is enough.
    (
        "http-request replace-value X-A ^admin$ user",
        "when = { header = \"X-A\" } after-rules = true rewrite = { remove = \"X-A\" }",
        true,
    ),
    // `lower` makes small letters of what is compared, and `upper` capital ones.
    ("http-request deny if { path,lower -m str /Public }", "forward = \"http\"", false),
    ("http-request deny unless { path,lower -m str /Public }", "rule]] deny = true", false),
    (
        "http-request deny if { path,lower -m str /Public /admin }",
        "when = { path-regex = \"(?i)/admin\" } deny",
        false,
    ),
    ("http-request deny if { path,upper -m str /public }", "forward = \"http\"", false),
    ("http-request deny if { path,lower -m reg ^/a.*b$ }", "path-regex = \"(?i)/a.*b\"", false),
    ("http-request deny if { path,lower -m reg ^/[A-Z] }", "deny = true", true),
    ("http-request deny if { path,upper -m reg ^/[[:lower:]] }", "deny = true", true),
    ("http-request deny if { path,lower -i -m str /Public }", "(?i)/Public", false),
    // Whom an unknown condition lets through gets no later change.
    (
        "http-request allow if { src -f /x }\n http-request set-header X-Trusted yes",
        "remove = \"X-Trusted\"",
        true,
    ),
    ("http-request allow if { src -f /x }\n http-request set-path /y", "answer = 502", true),
    // Another spelling of a path is another path there.
    (
        "http-request del-header X-S unless { path_beg /internal }",
        "rewrite = { remove = \"X-S\" }",
        true,
    ),
    (
        "http-request set-header X-S no unless { path_beg /internal }",
        "rewrite = { remove = \"X-S\" }",
        false,
    ),
    (
        "http-request set-header X-S no unless { path_beg /internal }",
        "when = { not = { path = \"/internal*\" } } after-rules = true rewrite = { set = \"X-S: no\" }",
        false,
    ),
    // The last value of a list is not known.
    (
        "http-request set-header X-Real-IP %[hdr(x-a)]",
        "when = { header-regex = \"X-Real-IP: .*,.*\" } after-rules = true rewrite = { remove = \"X-Real-IP\" }",
        true,
    ),
    ("http-request add-header X-R %[req.fhdr(x-a)]", "forward = \"http\"", true),
    // What was not to get out stays in.
    ("http-response del-header X-R if { res.hdr(x-s) s }", "response-remove = \"X-R\"", true),
    ("http-response del-header X-R if { var(txn.a) 1 }", "response-remove = \"X-R\"", true),
    ("http-response del-header X- -m beg", "answer = 502", true),
    // HAProxy answers there itself.
    ("stats uri /admin\n stats auth a:b", "when = { path = \"/admin*\" } deny = true", true),
    ("stats auth a:b", "when = { path = \"/haproxy\", query = \"stats\" } deny = true", true),
    // What decides and depends on where HAProxy runs.
    (".if 1\n http-request deny if { path_beg /admin }\n .endif", "deny = true", true),
    (".if 1\n use_backend c if { path_beg /c }\n .endif", "deny = true", true),
    (".if 1\n default-server ssl\n .endif", "deny = true", true),
    // A criterion ends at an empty word, and one without values takes nothing.
    (
        "acl z path_beg \"\"\n http-request allow if z\n http-request deny",
        "[[service.f.rule]] deny = true",
        true,
    ),
    ("http-request deny unless { path_dir / }", "[[service.f.rule]] deny = true", true),
    (".if 1\n timeout client 5s\n .endif", "forward = \"http\"", true),
];

/// Expressions and names that may find the port of a host see it; paths are not made simpler.
const PORTS_AND_PATHS: &[ConversionCase] = &[
    ("http-request deny if { hdr_reg(host) [0-9]+$ }", "header-regex = \"host: .*[0-9]+\"", false),
    (
        "http-request deny if { hdr_reg(host) ^api[0-9]+\\.example }",
        "host-regex = \"(?i)api[0-9]+\\\\.example.*\"",
        false,
    ),
    ("http-request deny if { hdr_dom(host) 8080 }", "[[service.f.rule]] deny = true", true),
    (
        "http-request normalize-uri path-strip-dotdot full",
        "when = { path-regex = \".*/\\\\.\\\\.(/.*)?\" } answer = 502",
        true,
    ),
    (
        "http-request normalize-uri path-merge-slashes if { method GET }",
        "when = { method = \"GET\", path-regex = \".*//.*\" } answer = 502",
        true,
    ),
];

#[test]
fn ports_are_seen_and_paths_are_not_made_simpler() {
    rows(Dialect::Haproxy, PORTS_AND_PATHS);
}

#[test]
fn what_is_spelt_otherwise_means_the_same() {
    rows(Dialect::Haproxy, SPELLINGS);
}

#[test]
fn a_service_of_a_condition_on_the_machine_is_not_opened_by_its_loss() {
    let text = "frontend f\n mode http\n bind 127.0.0.1:80\n default_backend b\n\
                .if 1\nfrontend g\n mode http\n bind 127.0.0.1:81\n default_backend b\n.endif\n\
                backend b\n mode http\n server s 10.0.0.1:80\n";
    let toml = convert(text, "x", Dialect::Haproxy).text.unwrap_or_default();
    assert!(!toml.contains("deny = true") && !toml.contains(":81"), "{toml}");
}

#[test]
fn an_escape_of_no_sign_is_told_and_nothing_is_written() {
    for word in ["\\x00", "\\xff", "\\xg1", "\\x1"] {
        let text = format!("frontend f\n bind 127.0.0.1:80\n acl a path {word}\n");
        assert!(convert(&text, "x", Dialect::Haproxy).text.is_none(), "{word}");
    }
}

/// Options of the global section, words of a listener, and what is written; `None`: no listener.
type TlsVersionCase = (&'static str, &'static str, Option<&'static str>);

const VERSIONS: &[TlsVersionCase] = &[
    ("ssl-min-ver TLSv1.3", "", Some("minimum = \"1.3\"")),
    ("no-tlsv12", "", Some("minimum = \"1.3\"")),
    ("force-tlsv13", "", Some("minimum = \"1.3\"")),
    ("", "force-tlsv13", Some("minimum = \"1.3\"")),
    ("ssl-min-ver TLSv1.2", "no-tlsv12", Some("minimum = \"1.3\"")),
    ("ssl-min-ver TLSv1.3", "ssl-min-ver TLSv1.2", Some("minimum = \"1.2\"")),
    ("no-sslv3 no-tlsv10 no-tlsv11 no-tls-tickets", "", Some("certificates")),
    ("", "ssl-max-ver TLSv1.2", Some("certificates")),
    ("", "ssl-max-ver TLSv1.1", None),
    ("ssl-max-ver TLSv1.2", "ssl-min-ver TLSv1.3", None),
    ("", "force-tlsv10", None),
    ("force-tlsv11", "", None),
    ("", "no-tlsv12 no-tlsv13", None),
    ("ssl-min-ver TLSv2", "", None),
    // The list may demand certificates of clients.
    ("", "crt-list /list", None),
];

#[test]
fn a_listener_speaks_no_version_of_tls_that_was_refused() {
    for (global, words, expected) in VERSIONS {
        let text = format!(
            "global\n ssl-default-bind-options {global}\nfrontend f\n mode http\n \
             bind 127.0.0.1:443 ssl crt /a.pem {words}\n default_backend b\n\
             backend b\n mode http\n server s 10.0.0.1:80\n"
        );
        let written = convert(&text, "x", Dialect::Haproxy).text;
        let toml = written.unwrap_or_default();
        let service = toml.split("[service.f]").nth(1);
        assert_eq!(service.is_some(), expected.is_some(), "{global} {words}: {toml}");
        if let Some(expected) = expected {
            assert!(toml.contains(expected), "{global} {words}: {toml}");
        }
    }
}

/// A backend's lines, and what is written of them.
type BackendCase = (&'static str, &'static str, bool);

const BACKENDS: &[BackendCase] = &[
    ("disabled", "answer = 503", false),
    ("http-send-name-header X-A", "rewrite = { remove = \"X-A\" }", true),
    ("option http-restrict-req-hdr-names delete", "field-names = \"drop\"", true),
    ("stats uri /admin\n stats auth a:b", "path = \"/admin*\"", true),
    ("option forwardfor", "add = \"X-Forwarded-For: {client}\"", true),
    ("option forwardfor except 10.0.0.0/8 if-none", "not = { client = \"10.0.0.0/8\" }", true),
    (
        "option httpchk\n http-check expect string a\n http-check expect string b",
        "expect = \"a\", status = [\"100-599\"]",
        true,
    ),
];

#[test]
fn what_a_backend_says_holds_for_its_requests() {
    for (lines, expected, is_written) in BACKENDS {
        let text = format!(
            "frontend f\n mode http\n bind 127.0.0.1:80\n use_backend c if {{ path /c }}\n \
             default_backend b\nbackend b\n mode http\n server s 10.0.0.1:80\n\
             backend c\n mode http\n {lines}\n server s 10.0.0.2:80 check\n"
        );
        let toml = convert(&text, "x", Dialect::Haproxy).text.unwrap_or_default();
        model::config::load(&toml, "x").unwrap_or_else(|findings| panic!("{lines}: {findings}"));
        assert!(toml.contains(expected), "{lines}: {toml}");
        assert_eq!(toml.contains("[pool.c]"), *is_written, "{lines}: {toml}");
    }
}

#[test]
fn a_server_that_is_not_verified_needs_no_authorities() {
    let text = "frontend f\n mode http\n bind 127.0.0.1:80\n default_backend b\n\
                backend b\n mode http\n server s 10.0.0.1:443 ssl ca-file /ca.pem verify none check\n";
    let toml = convert(text, "x", Dialect::Haproxy).text.unwrap_or_default();
    model::config::load(&toml, "x").unwrap_or_else(|findings| panic!("{toml}: {findings}"));
    assert!(toml.contains("verify = \"off\"") && !toml.contains("ca.pem"), "{toml}");
}
