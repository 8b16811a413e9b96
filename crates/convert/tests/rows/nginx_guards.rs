//! What guards requests in nginx: no spelling, nesting or jump may lead past it.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

use super::{ConversionCase, rows};

const JUMPS: &[ConversionCase] = &[
    // What stands within an internal location is internal, too.
    (
        "location /a { internal; proxy_pass http://c; location /a/x { proxy_pass http://c; } location = /a/y { return 200; } }",
        "when = { path = \"/a/x*\" } answer = 404",
        false,
    ),
    (
        "location /a { internal; proxy_pass http://c; location = /a/y { return 200; } }",
        "when = { path = \"/a/y\" } answer = 404",
        false,
    ),
    // No redirect tells of it either.
    (
        "location /a/ { internal; proxy_pass http://c; }",
        "when = { path = \"/a\" } answer = 404",
        false,
    ),
    // A `return` that is jumped over leaves a location without a server.
    (
        "location /a { if ($http_x_ok) { break; } return 403; }",
        "when = { path = \"/a*\" } answer = 404",
        true,
    ),
    ("location /a { break; return 403; }", "when = { path = \"/a*\" } answer = 404", true),
    (
        "location /a { root /srv; if ($http_x_ok) { break; } return 403; }",
        "when = { path = \"/a*\" } answer = 404",
        true,
    ),
    (
        "location /a { rewrite ^ /q break; return 403; }",
        "when = { path = \"/a*\" } answer = 404",
        true,
    ),
    ("location /a { return 403; }", "when = { path = \"/a*\" } answer = 403", false),
];

#[test]
fn jumps() {
    rows(Dialect::Nginx, JUMPS);
}

const FOREIGN: &[ConversionCase] = &[
    // What nobody here knows may guard what it stands in.
    (
        "location /a { require $x; proxy_pass http://c; }",
        "when = { path = \"/a*\" } answer = 401",
        true,
    ),
    (
        "location /a { allow_methods GET; proxy_pass http://c; }",
        "when = { path = \"/a*\" } answer = 401",
        true,
    ),
    ("ip_filter on;", "[[service.web.rule]] answer = 401", true),
    (
        "location /a { if ($http_x) { foo on; } proxy_pass http://c; }",
        "{ header-regex = \"x: .+\" }",
        true,
    ),
    (
        "location /a { foo off; proxy_pass http://c; }",
        "when = { path = \"/a*\" } pool = \"c\"",
        true,
    ),
    // Settings, and what is known to change no access.
    (
        "location /a { foo_timeout 5s; proxy_pass http://c; }",
        "when = { path = \"/a*\" } pool = \"c\"",
        true,
    ),
    (
        "location /a { pagespeed on; proxy_pass http://c; }",
        "when = { path = \"/a*\" } pool = \"c\"",
        true,
    ),
];

#[test]
fn directives_that_nobody_knows() {
    rows(Dialect::Nginx, FOREIGN);
}

#[test]
fn what_stands_around_all_servers_guards_where_it_is_switched_on() {
    let server = "server { listen 80; location / { proxy_pass http://10.0.0.1; } }";
    for (directive, is_closed) in [("foo on;", true), ("foo /etc/foo name=x;", false)] {
        let text = written(&format!("{directive} {server}"), true);
        assert_eq!(text.contains("answer = 401"), is_closed, "{directive}: {text}");
    }
}

const FALLBACKS: &[ConversionCase] = &[
    // Servers beside `try_files` are asked for files that are there, and none is.
    (
        "location /a { try_files $uri =404; proxy_pass http://c; }",
        "when = { path = \"/a*\" } answer = 404",
        true,
    ),
    (
        "location /a { try_files $uri /x; proxy_pass http://c; }",
        "when = { path = \"/a*\" } answer = 502",
        true,
    ),
    // Whom a redirect may mean reaches no server.
    ("if ($args ~ id=) { return 302 /n; }", "[[service.web.rule]] answer = 502", true),
    ("if ($args ~ id=) { rewrite ^ /n redirect; }", "[[service.web.rule]] answer = 502", true),
    (
        "if ($request_uri = /a) { return 301 /b; }",
        "when = { path = \"/a\" } redirect = { to = \"/b\"",
        false,
    ),
];

#[test]
fn requests_that_servers_are_not_to_get() {
    rows(Dialect::Nginx, FALLBACKS);
}

#[test]
fn the_rules_of_a_zone_share_its_rate() {
    let file = |zone: &str, limit: &str| {
        format!(
            "limit_req_zone {zone}; server {{ listen 80;\nlocation /a {{ limit_req zone=z {limit}; proxy_pass http://10.0.0.1; }}\n\
             location /b {{ limit_req zone=z {limit}; proxy_pass http://10.0.0.1; }} }}"
        )
    };
    let address = "$binary_remote_addr zone=z:1m";
    for (zone, limit, rule, is_left) in [
        (
            format!("{address} rate=10r/s"),
            "burst=5",
            "{ rate = 5, burst = 3, by = \"address\" }",
            false,
        ),
        (format!("{address} rate=240r/m"), "", "{ rate = 2, burst = 1, by = \"address\" }", false),
        // No rule counts less than one request a second.
        (format!("{address} rate=1r/s"), "", "{ path = \"/a*\" } deny = true", true),
        (format!("{address} rate=30r/m"), "", "{ path = \"/b*\" } deny = true", true),
        // A key that rules do not count by is counted with others.
        (
            "$binary_remote_addr$uri zone=z:1m rate=2r/s".into(),
            "",
            "{ rate = 1, burst = 1, by = \"address\" }",
            false,
        ),
        (
            "$server_name zone=z:1m rate=2r/s".into(),
            "",
            "{ rate = 1, burst = 1, by = \"rule\" }",
            false,
        ),
        (
            "$http_x_key zone=z:1m rate=2r/s".into(),
            "",
            "by = \"header\", header = \"x-key\" }",
            false,
        ),
    ] {
        let text = written(&file(&zone, limit), is_left);
        assert!(text.contains(rule), "{zone} {limit}: no {rule} in {text}");
    }
}

/// Converts the servers of a file, and gives its text in one line.
fn written(http: &str, is_left: bool) -> String {
    let result = convert(&format!("http {{ {http} }}"), "x", Dialect::Nginx);
    let text = result.text.clone().unwrap_or_default();
    if !text.is_empty() {
        model::config::load(&text, "x").unwrap_or_else(|found| panic!("{http}: {found}\n{text}"));
    }
    let left = result.notes.iter().any(|note| note.kind == NoteKind::LeftOut);
    assert_eq!(left, is_left, "{http}: {:?}\n{text}", result.notes);
    text.replace('\n', " ")
}

#[test]
fn the_old_word_for_tls_counts_where_it_is_inherited() {
    let server = |words: &str| {
        format!(
            "server {{ {words} ssl_certificate /a.pem; ssl_certificate_key /a.pem; location / {{ proxy_pass http://10.0.0.1; }} }}"
        )
    };
    for (before, words, is_tls) in [
        ("ssl on;", "listen 443;", true),
        ("ssl on;", "listen 443; ssl off;", false),
        ("ssl off;", "listen 443; ssl on;", true),
        ("ssl on;", "", true),
        ("", "listen 443;", false),
    ] {
        let text = written(&format!("{before} {}", server(words)), false);
        assert_eq!(text.contains(".tls]"), is_tls, "{before} {words}: {text}");
    }
}

const PATHS: &[ConversionCase] = &[
    // What is encoded where rules compare is decoded where nginx does.
    (
        "location ~ \\s { deny all; }",
        "when = { path-regex = \".*(?:%(?:0[9A-D]|20)).*\" } deny = true",
        false,
    ),
    ("location ~ < { deny all; }", "when = { path-regex = \".*<.*\" } deny = true", false),
    ("location ~ '\\?' { deny all; }", "when = { path-regex = \".*%3F.*\" } deny = true", false),
    ("if ($uri ~ ' ') { return 403; }", "when = { path-regex = \".*%20.*\" } answer = 403", false),
    (
        "rewrite '<b' https://safe.example/ redirect;",
        "when = { path-regex = \".*<b.*\" } redirect = { to = \"https://safe.example/",
        false,
    ),
    (
        "location ~ \\s { proxy_pass http://c; }",
        "when = { path-regex = \".*(?:%(?:0[9A-D]|20)).*\" } pool = \"c\"",
        false,
    ),
    // A line feed ends what `$` and `.` look at.
    (
        "location ~ \\.php$ { deny all; }",
        "when = { path-regex = \".*%0A.*\" } deny = true  # x:3 deny all [[service.web.rule]] when = { path-regex = \".*\\\\.php\" }",
        false,
    ),
    // What depends on its neighbours is asked of paths without encoded characters alone.
    ("location ~ \\bx { deny all; }", "when = { path-regex = \".*%.*\" } deny = true", true),
    ("if ($uri = '/x?y') { return 403; }", "when = { path = \"/x%3Fy\" } answer = 403", false),
    // Rules see none of the connection's own fields.
    ("if ($http_connection ~ close) { return 403; }", "[[service.web.rule]] answer = 403", true),
    ("if ($http_keep_alive) { return 403; }", "[[service.web.rule]] answer = 403", true),
];

#[test]
fn paths_and_fields_that_rules_do_not_see() {
    rows(Dialect::Nginx, PATHS);
}

#[test]
fn the_names_of_servers_tell_whose_handshake_is_refused() {
    let server = |words: &str| {
        format!(
            "server {{ listen 443 ssl; {words} ssl_certificate /a.pem; ssl_certificate_key /a.pem; location / {{ proxy_pass http://10.0.0.1; }} }}"
        )
    };
    let reject = "ssl_reject_handshake on;";
    for (first, second, rule) in [
        (
            reject.to_owned(),
            "server_name x.example;".to_owned(),
            "when = { not = { sni = \"x.example\" } } deny = true",
        ),
        (
            "server_name a.example;".to_owned(),
            format!("server_name b.example; {reject}"),
            "when = { sni = \"b.example\" } deny = true",
        ),
        (
            "server_name a.b.example;".to_owned(),
            format!("server_name *.b.example; {reject}"),
            "when = { sni = \"*.b.example\", not = { sni = \"a.b.example\" } } deny = true",
        ),
    ] {
        let text = written(&format!("{} {}", server(&first), server(&second)), false);
        assert!(text.contains(rule), "{first} {second}: no {rule} in {text}");
    }
}

#[test]
fn chains_of_certificates_that_nginx_limits_are_told() {
    // A limit that is written was meant.
    for (depth, is_left_out) in [("", false), ("ssl_verify_depth 0;", true)] {
        let text = format!(
            "server {{ listen 443 ssl; ssl_certificate /a.pem; ssl_certificate_key /a.pem; ssl_client_certificate /ca.pem; ssl_verify_client on; {depth} location / {{ proxy_pass http://10.0.0.1; }} }}"
        );
        assert!(written(&text, is_left_out).contains("verify = \"required\""));
    }
}

#[test]
fn no_certificate_is_named_by_a_variable() {
    let server = |name: &str, file: &str| {
        format!(
            "server {{ listen 443 ssl; server_name {name}; ssl_certificate {file}.pem; ssl_certificate_key {file}.pem; location / {{ proxy_pass http://10.0.0.1; }} }}"
        )
    };
    let variable = server("b.example", "/c/$ssl_server_name");
    let text = written(&format!("{} {variable}", server("a.example", "/c/a")), true);
    assert!(text.contains("certificates = \"/c/a.pem\""), "{text}");
    // Without another certificate nothing is served there.
    assert_eq!(written(&variable, true).matches("[service.").count(), 0);
}

/// Rules behind a refusal of everybody are not written, and not forgotten either.
#[test]
fn what_stands_beside_a_missing_include_of_stream_has_an_outcome() {
    for list in ["deny 10.0.0.1;", "deny on;", "allow 10.0.0.1; deny all;"] {
        let text = format!(
            "stream {{ server {{ listen 127.0.0.1:90; proxy_pass 10.0.0.2:80; {list} include x; }} }}"
        );
        let result = convert(&text, "x", Dialect::Nginx);
        assert_eq!(result.unsettled, 0, "{text}: {:?}", result.notes);
    }
}

/// The line of an outer block whose place inner ones take.
#[test]
fn retries_of_an_outer_block_have_an_outcome() {
    for outer in ["error timeout", "error http_502 non_idempotent", "off", "on"] {
        for inner in ["off", "error", "error timeout http_503"] {
            let text = format!(
                "http {{ proxy_next_upstream {outer}; server {{ listen 127.0.0.1:80; \
                 location / {{ proxy_pass http://127.0.0.1:9; proxy_next_upstream {inner}; }} }} }}"
            );
            let result = convert(&text, "x", Dialect::Nginx);
            assert_eq!(result.unsettled, 0, "{text}: {:?}", result.notes);
        }
    }
}
