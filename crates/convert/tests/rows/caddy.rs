//! Conversion of whole Caddyfiles, one row each.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

/// A file, what its output has to contain, and whether something is left out.
type CaddyCase = (&'static str, &'static str, bool);

const SITES: &[CaddyCase] = &[
    (":8080\nreverse_proxy 10.0.0.1:80\n", "listen = [ \":8080\", # line 1 ]", false),
    ("shop.example {\nreverse_proxy a:80\n}\n", "acme = { names = \"shop.example\" }", false),
    (
        "shop.example {\nreverse_proxy a:80\n}\n",
        "redirect = { to = \"https://{host-name}{path}{query}\", status = 308 }",
        false,
    ),
    (
        "shop.example:8443 {\nreverse_proxy a:80\n}\n",
        "https://{host-name}:8443{path}{query}",
        false,
    ),
    ("a.example {\ntls /c.pem /c.key\nreverse_proxy a:80\n}\n", "certificates = \"/c.pem\"", false),
    ("a.example {\ntls /c.pem /k.pem\nreverse_proxy a:80\n}\n", "certificates = \"/c.pem\"", true),
    (
        "a.example {\ntls {\nprotocols tls1.3\n}\nreverse_proxy a:80\n}\n",
        "minimum = \"1.3\"",
        false,
    ),
    (
        "a.example {\ntls {\nclient_auth {\nmode verify_if_given\ntrust_pool file /ca.pem\n}\n}\nreverse_proxy a:80\n}\n",
        "client = { ca = \"/ca.pem\", verify = \"optional\" }",
        false,
    ),
    ("{\nemail x@a.example\n}\na.example {\nrespond ok\n}\n", "contact = \"x@a.example\"", false),
    // Without automatic HTTPS a host is still served with TLS.
    (
        "{\nauto_https off\n}\na.example {\ntls /c.pem /c.key\nrespond ok\n}\n",
        "listen = [ \":443\", # line 4 ]",
        false,
    ),
    (":8443 {\ntls /c.pem /c.key\nrespond ok\n}\n", "tls] certificates = \"/c.pem\"", false),
    // A name of one label below is meant by `*`.
    (
        "http://*.a.example {\nrespond ok\n}\n",
        "when = { host-regex = \"[^.]+\\\\.a\\\\.example\" }",
        false,
    ),
    ("{$PORT::81} {\nrespond ok\n}\n", "\":81\"", false),
    (
        "(s) {\nrespond {args[0]} 203\n}\n:80 {\nimport s hi\n}\n",
        "status = 203, body = \"hi\"",
        false,
    ),
];

const DIRECTIVES: &[CaddyCase] = &[
    ("respond /a 403\nrespond ok", "when = { path = \"/a\" } answer = 403", false),
    // Directives run in Caddy's order, and not as they are written.
    (
        "respond ok\nredir /old /new 301",
        "when = { path = \"/old\" } redirect = { to = \"/new\", status = 301 }",
        false,
    ),
    ("handle_path /api/* {\nreverse_proxy a:80\n}", "strip = \"/api\"", false),
    ("handle_path /api/* {\nrespond /x 404\nrespond ok\n}", "path = \"/api/x\"", false),
    ("rewrite /a /b\nreverse_proxy a:80", "rewrite = { path = \"/b\"", false),
    ("uri strip_prefix /v1\nreverse_proxy a:80", "strip = \"/v1\"", false),
    ("uri replace a b\nreverse_proxy a:80", "answer = 502", true),
    ("basic_auth /a {\nx y\n}\nreverse_proxy a:80", "path = \"/a\" } answer = 401", true),
    ("forward_auth a:80 {\nuri /x\n}\nreverse_proxy a:80", "answer = 401", true),
    ("file_server /f/*", "path = \"/f/*\" } answer = 404", true),
    ("php_fastcgi unix//x", "answer = 502", true),
    ("abort /a\nrespond ok", "when = { path = \"/a\" } deny = true", false),
    ("error /a 410\nrespond ok", "when = { path = \"/a\" } answer = 410", false),
    ("unheard_of\nreverse_proxy a:80", "deny = true", true),
    ("import /x/*\nreverse_proxy a:80", "deny = true", true),
    // What refuses under an unknown condition refuses everybody.
    ("@x expression 1\nrespond @x 403\nrespond ok", "answer = 403", true),
    ("header X-A b\nreverse_proxy a:80", "{ field = \"X-A: b\", own = true }", false),
    ("header >X-A b\nreverse_proxy a:80", "response-set = [\"X-A: b\"]", false),
    ("header -X-A\nreverse_proxy a:80", "response-remove = [\"X-A\"]", false),
    ("header ?X-A b\nreverse_proxy a:80", "pool = \"a-80\"", true),
    // A line that waits for the server's answer makes its whole block wait.
    ("header {\nX-A b\n-X-C\n}\nreverse_proxy a:80", "response-set = [\"X-A: b\"]", false),
    (
        "header {\nX-A b\n>X-C d\n}\nreverse_proxy a:80",
        "response-set = [\"X-A: b\", \"X-C: d\"]",
        false,
    ),
    (
        "header {\nX-A b\nX-C d\n}\nreverse_proxy a:80",
        "response-add = [{ field = \"X-A: b\"",
        false,
    ),
    ("header >X-A b\nrespond 403", "response-add = [{ field = \"X-A: b\", own = true }]", false),
    (
        "header >X-A b\nredir https://b.example",
        "response-add = [{ field = \"X-A: b\", own = true }]",
        false,
    ),
    ("request_header X-A {host}\nreverse_proxy a:80", "\"X-A: {host-name}\"", false),
    ("request_header X-A {tls_cipher}\nreverse_proxy a:80", "remove = [\"X-A\"]", true),
    ("encode gzip\nreverse_proxy a:80", "compress = { codings = \"gzip\", min = \"512B\" }", false),
    ("@a not path /a /b*\nrespond @a 403\nrespond ok", "not = { any = [{ path = \"/a\" }", false),
    (
        "@a method GET\nrespond @a 403\nrespond ok",
        "when = { method = \"GET\" } answer = 403",
        false,
    ),
    (
        "@a remote_ip private_ranges\nrespond @a ok\nrespond 403",
        "client = [\"192.168.0.0/16\", \"172.16.0.0/12\", \"10.0.0.0/8\"",
        false,
    ),
    ("@a path_regexp ^/A$\nrespond @a ok\nrespond 403", "path-regex = \"(?-i:/A)\"", false),
];

const PROXIES: &[CaddyCase] = &[
    ("", "timeout = { connect = \"3s\", first-byte = \"1d\"", false),
    ("", "retries = 0 probe = \"off\" eject = \"off\"", false),
    ("to b:81", "\"b:81\"", false),
    ("to b:81", "balance = \"random\"", false),
    ("lb_policy round_robin", "balance = \"round-robin\"", false),
    ("lb_policy ip_hash", "balance = \"maglev\"", false),
    ("lb_policy cookie s", "sticky = { by = \"cookie\", name = \"s\" }", false),
    ("lb_policy unheard", "pool = \"a-80\"", true),
    ("lb_retries 3", "retries = 3", false),
    ("health_uri /h", "probe = { http = \"/h\", rise = 1, fall = 1, status = [\"200-299\"]", false),
    (
        "fail_duration 10s",
        "eject = { failures = 1, base-time = \"10s\", max-time = \"10s\" }",
        false,
    ),
    ("header_up Host {upstream_hostport}", "host = \"a\"", false),
    ("header_up X-Forwarded-For {remote_host}", "\"X-Forwarded-For: {client}\"", false),
    ("header_up -X-A", "remove = [\"X-A\"]", false),
    ("header_down -X-A", "response-remove = [\"X-A\"]", false),
    ("handle_response {\n}", "answer = 502", true),
    ("transport http {\ntls\n}", "tls = \"on\"", false),
    ("transport http {\ntls\n}", "http2 = \"prefer\"", false),
    // Since version 2.11 servers over TLS are asked for their own name.
    ("transport http {\ntls\n}", "host = \"a\"", false),
    ("header_up Host {hostport}\ntransport http {\ntls\n}", "host = \"{host}\"", false),
    ("to b:80\ntransport http {\ntls\n}", "tls = \"on\"", true),
    ("transport http {\ntls_insecure_skip_verify\n}", "tls = { verify = \"off\" }", false),
    ("transport http {\ntls_trust_pool pki_root x\n}", "answer = 502", true),
    ("transport http {\nproxy_protocol v2\n}", "send-proxy = \"v2\"", false),
    ("transport http {\nversions h2c\n}", "http2 = \"only\"", false),
    (
        "transport http {\ndial_timeout 1s\nresponse_header_timeout 5s\n}",
        "connect = \"1s\", first-byte = \"5s\"",
        false,
    ),
    ("transport fastcgi", "answer = 502", true),
    ("unheard_of", "pool = \"a-80\"", true),
];

fn check(text: &str, written: &str, left: bool) {
    let converted = convert(text, "x", Dialect::Caddy);
    let toml = converted.text.clone().unwrap_or_else(|| panic!("{text}: {converted:?}"));
    model::config::load(&toml, "x").unwrap_or_else(|findings| panic!("{text}: {findings}"));
    let squeezed = toml.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed.contains(written), "{text}: no {written} in\n{toml}");
    let out = converted.notes.iter().any(|note| note.kind == NoteKind::LeftOut);
    assert_eq!(out, left, "{text}: {:?}", converted.notes);
    assert_eq!(converted.unsettled, 0, "{text}: {:?}", converted.notes);
}

#[test]
fn sites() {
    SITES.iter().for_each(|(text, written, left)| check(text, written, *left));
}

#[test]
fn directives() {
    for (directives, written, left) in DIRECTIVES {
        check(&format!(":80 {{\n{directives}\n}}\n"), written, *left);
    }
}

#[test]
fn proxies() {
    for (options, written, left) in PROXIES {
        let text = format!(":80 {{\nreverse_proxy http://a {{\n{options}\n}}\n}}\n");
        check(&text, written, *left);
    }
}

#[test]
fn of_a_damaged_caddyfile_nothing_is_written() {
    for (text, line) in [
        (":80 {\nrespond ok\n", 1),
        (":80 {\nrespond \"ok\n}\n", 2),
        (":80 {\nrespond ok\n}\n}\n", 4),
        ("{$HOST} {\nrespond ok\n}\n", 1),
        (":80 {\nrespond <<X\nok\n}\n", 2),
    ] {
        let converted = convert(text, "x", Dialect::Caddy);
        assert_eq!(converted.text, None, "{text}");
        let lines: Vec<u32> = converted.notes.iter().map(|note| note.line).collect();
        assert!(lines.contains(&line), "{text}: {lines:?}");
    }
}

#[test]
fn an_unknown_condition_closes_and_never_opens() {
    let closed = ":80 {\n@x expression 1\nhandle @x {\nbasic_auth {\na b\n}\nreverse_proxy a:80\n}\nreverse_proxy a:80\n}\n";
    let text = convert(closed, "x", Dialect::Caddy).text.unwrap();
    assert!(text.contains("answer = 401") && !text.contains("pool = \"a-80\"\nrewrite"), "{text}");
    let permitted = ":80 {\n@x expression 1\nreverse_proxy @x a:80\nrespond 403\n}\n";
    let text = convert(permitted, "x", Dialect::Caddy).text.unwrap();
    assert!(!text.contains("pool = \"a-80\"\nrewrite") && text.contains("answer = 403"), "{text}");
}

#[test]
fn a_site_without_its_tls_is_never_served_in_the_clear() {
    for tls in ["tls internal", "tls {\non_demand\n}", "tls {\nclient_auth {\nmode require\n}\n}"] {
        let text = format!("a.example {{\n{tls}\nreverse_proxy a:80\n}}\n");
        let converted = convert(&text, "x", Dialect::Caddy);
        let written = converted.text.unwrap_or_default();
        assert!(!written.contains("443") && converted.left_out > 0, "{text}\n{written}");
        let other = format!("{text}b.example {{\nreverse_proxy b:80\n}}\n");
        let written = convert(&other, "x", Dialect::Caddy).text.unwrap();
        assert!(written.contains("when = { host = \"a.example\" }\nanswer = 502"), "{written}");
    }
}

/// The places of texts in what is written, which must all be there.
fn places(text: &str, wanted: &[&str]) -> Vec<usize> {
    let written = convert(text, "x", Dialect::Caddy).text.unwrap();
    let place = |one: &&str| written.find(*one).unwrap_or_else(|| panic!("no {one} in\n{written}"));
    wanted.iter().map(place).collect()
}

#[test]
fn steps_run_in_the_order_in_which_caddy_sorts_them() {
    for (text, first, then) in [
        (
            ":80 {\n@bad not remote_ip 10.0.0.0/8\nhandle @bad {\nrespond 403\n}\nhandle /api* {\nreverse_proxy a:80\n}\n}\n",
            "answer = 403",
            "pool = \"a-80\"\nrewrite",
        ),
        (
            ":80 {\nhandle /adm* {\nreverse_proxy a:80\n}\n@x {\npath /admin/*\nnot remote_ip 10.0.0.0/8\n}\nhandle @x {\nrespond 403\n}\n}\n",
            "answer = 403",
            "pool = \"a-80\"\nrewrite",
        ),
    ] {
        let found = places(text, &[first, then]);
        assert!(found[0] < found[1], "{text}");
    }
}

#[test]
fn several_values_of_one_field_are_alternatives() {
    let text = ":80 {\n@bad {\nheader User-Agent *curl*\nheader User-Agent *wget*\n}\nrespond @bad 403\nreverse_proxy a:80\n}\n";
    let written = convert(text, "x", Dialect::Caddy).text.unwrap();
    assert!(written.contains("curl") && !written.contains("all = ["), "{written}");
}

#[test]
fn proxy_headers_are_believed_from_named_networks_alone() {
    for inner in ["", "allow 10.0.0.0/8\ndeny 10.1.0.0/16\n"] {
        let text = format!(
            "{{\nservers {{\nlistener_wrappers {{\nproxy_protocol {{\n{inner}}}\n}}\n}}\n}}\n:80 {{\nreverse_proxy a:80\n}}\n"
        );
        let converted = convert(&text, "x", Dialect::Caddy);
        assert!(!converted.text.unwrap().contains("accept-proxy") && converted.left_out > 0);
    }
}
