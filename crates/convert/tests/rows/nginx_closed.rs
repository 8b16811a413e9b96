//! What nginx does otherwise than a rule can: written exactly where that is possible, else refused or removed, and told.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::{ConversionResult, convert};

use crate::{ConversionCase, around, rows};

const PATHS: &[ConversionCase] = &[
    // A text before the variables of the path belongs to it.
    ("location /a { proxy_pass http://c/pre$request_uri; }", "path = \"/pre{path}\"", false),
    ("location /a { proxy_pass http://c/pre$uri$is_args$args; }", "path = \"/pre{path}\"", false),
    (
        "location /a { proxy_pass http://c/$host$request_uri; }",
        "path = \"/{host-name}{path}\"",
        false,
    ),
    (
        "location /a { set $p /pp; proxy_pass http://c$p$request_uri; }",
        "path = \"/pp{path}\"",
        false,
    ),
    ("location /a { proxy_pass http://c/$request_uri; }", "path = \"/{path}\"", false),
    (
        "location /a { proxy_pass http://c$document_uri$is_args$args; }",
        "pool = \"c\" rewrite = { host = \"c\" }",
        false,
    ),
    // nginx sends no query with these.
    ("location /a { proxy_pass http://c/pre$uri; }", "answer = 502", true),
    ("location /a { set $p /fixed; proxy_pass http://c$p; }", "answer = 502", true),
    ("location /a { set $b http://c/x; proxy_pass $b; }", "answer = 502", true),
    ("location ~ ^/a/(.*)$ { proxy_pass http://c/x/$1; }", "answer = 502", true),
    ("location ~ ^/a/(.*)$ { proxy_pass http://c/x/$1$is_args$args; }", "path = \"/x/{1}\"", false),
    (
        "location ~ ^/a/(.*)$ { set $p c; proxy_pass http://$p/$1$is_args$args; }",
        "path = \"/{1}\"",
        false,
    ),
    // The path of variables does not follow `rewrite`.
    (
        "location /a { rewrite ^/a/x$ /y break; proxy_pass http://c$request_uri; }",
        "when = { path = \"/a*\", path-regex = \"/a/x\" } answer = 502",
        true,
    ),
];

#[test]
fn paths_with_variables() {
    rows(Dialect::Nginx, PATHS);
}

const HOSTS: &[ConversionCase] = &[
    (
        "location /a { if ($http_host ~ :8080$) { return 403; } proxy_pass http://c; }",
        "header-regex = \"host: .*:8080\" } answer = 403",
        false,
    ),
    (
        "location /a { if ($http_host != www.example) { return 403; } proxy_pass http://c; }",
        "not = { header = \"host: www.example\" } } answer = 403",
        false,
    ),
    (
        "location /a { if ($host != www.example) { return 403; } proxy_pass http://c; }",
        "not = { host = \"www.example\" } } answer = 403",
        false,
    ),
    (
        "location /a { if ($host = '[::1]') { return 403; } proxy_pass http://c; }",
        "host = \"[::1]\" } answer = 403",
        false,
    ),
];

#[test]
fn hosts_as_clients_write_them() {
    rows(Dialect::Nginx, HOSTS);
}

const CLOSED: &[ConversionCase] = &[
    (
        "location /a { if ($http_x_php) { fastcgi_pass 127.0.0.1:9000; } proxy_pass http://c; }",
        "answer = 404",
        true,
    ),
    (
        "location /a { if ($http_x_php) { uwsgi_pass 127.0.0.1:9000; } proxy_pass http://c; }",
        "answer = 404",
        true,
    ),
    (
        "location /a { if ($http_x_a) { content_by_lua_file /x; } proxy_pass http://c; }",
        "answer = 404",
        true,
    ),
    (
        "location /a { if ($http_x_a) { access_by_lua_file /x; } proxy_pass http://c; }",
        "answer = 401",
        true,
    ),
    (
        "location /a { proxy_pass_request_headers off; proxy_pass http://c; }",
        "when = { path = \"/a*\" } answer = 502",
        true,
    ),
    (
        "location /a { proxy_pass_request_body off; proxy_pass http://c; }",
        "when = { path = \"/a*\" } answer = 502",
        true,
    ),
    (
        "location /a { proxy_set_body x; proxy_pass http://c; }",
        "when = { path = \"/a*\" } answer = 502",
        true,
    ),
    (
        "location /a { proxy_redirect ~*^https?://int\\.example/(.*)$ https://$http_host/$1; proxy_pass http://c; }",
        "response-remove = [\"Location\", \"Refresh\"]",
        true,
    ),
    (
        "location /a { proxy_redirect http://$proxy_host/ $scheme://$host/; proxy_pass http://c; }",
        "location = [{ from = \"http://c/\", to = \"http://{host-name}/\" }]",
        false,
    ),
    (
        "location /a { proxy_cookie_path ~*^/x/ /; proxy_pass http://c; }",
        "response-remove = \"Set-Cookie\"",
        true,
    ),
    (
        "location /a { proxy_cookie_domain ~x$ y; proxy_pass http://c; }",
        "response-remove = \"Set-Cookie\"",
        true,
    ),
    (
        "location /a { proxy_cookie_flags ~ secure httponly; proxy_pass http://c; }",
        "response-remove = \"Set-Cookie\"",
        true,
    ),
    (
        "location /a { proxy_cookie_flags off; proxy_pass http://c; }",
        "when = { path = \"/a*\" } pool = \"c\"",
        false,
    ),
];

const SERVED: &[ConversionCase] = &[
    ("location /a { grpc_pass 127.0.0.1:9001; }", "\"127.0.0.1:9001\"", false),
    (
        "location /a/ { internal; proxy_pass http://c; }",
        "when = { path = \"/a\" } answer = 404",
        false,
    ),
];

#[test]
fn servers_without_a_scheme_and_internal_locations_without_their_slash() {
    rows(Dialect::Nginx, SERVED);
}

#[test]
fn what_cannot_be_written_is_closed() {
    rows(Dialect::Nginx, CLOSED);
}

#[test]
fn directives_that_may_guard_refuse() {
    for directive in [
        "rewrite_by_lua_block { ngx.exit(403) }",
        "rewrite_by_lua_file /x;",
        "server_rewrite_by_lua_block { ngx.exit(403) }",
        "app_protect_enable on;",
        "SecRulesEnabled;",
        "shib_request /x;",
        "auth_totp_realm x;",
        "secure_token $x;",
        "ssl_ocsp on;",
        "waf on;",
        "my_access_rule x;",
        "ip_blacklist x;",
    ] {
        let row = format!("location /a {{ {directive} proxy_pass http://c; }}");
        let written = "when = { path = \"/a*\" } answer = 401";
        rows(Dialect::Nginx, &[(row.leak(), written, true)]);
    }
    for directive in ["app_protect_enable off;", "access_log off;", "server_tokens off;"] {
        let row = format!("location /a {{ {directive} proxy_pass http://c; }}");
        let text = result(&row).text.unwrap();
        assert!(!text.contains("answer = 401"), "{directive}: {text}");
    }
}

fn result(server: &str) -> ConversionResult {
    convert(&around(Dialect::Nginx, server), "x", Dialect::Nginx)
}

#[test]
fn one_server_that_drops_fields_decides_for_its_address() {
    let both = |first: &str, second: &str| {
        let text = format!(
            "http {{ server {{ listen 127.0.0.1:80; server_name a.example; {first} location / {{ proxy_pass http://10.0.0.1; }} }}\n\
             server {{ listen 127.0.0.1:80; server_name b.example; {second} location / {{ proxy_pass http://10.0.0.2; }} }} }}"
        );
        let found = convert(&text, "x", Dialect::Nginx);
        let drops = found.text.unwrap().contains("field-names = \"drop\"");
        (drops, found.notes.iter().any(|note| note.kind == NoteKind::LeftOut))
    };
    let on = "underscores_in_headers on;";
    assert_eq!(both("", ""), (true, false));
    assert_eq!(both(on, on), (false, false));
    assert_eq!(both(on, ""), (true, true));
    assert_eq!(both("", on), (true, true));
    assert_eq!(both(on, "ignore_invalid_headers off;"), (false, false));
}

#[test]
fn fields_that_nginx_hides_pass_only_where_a_location_says_so() {
    let text =
        result("location /a { proxy_pass_header Server; proxy_pass http://c; }").text.unwrap();
    let edit = text.lines().find(|line| line.contains("\"X-Accel-Redirect\"")).unwrap();
    assert!(edit.contains("\"X-Pad\"") && !edit.contains("\"Server\""), "{text}");
    let rule = |path: &str| {
        let own = text.split(path).nth(1).unwrap();
        own.split("[[").next().unwrap().contains("response-remove = \"Server\"")
    };
    assert!(!rule("when = { path = \"/a*\" }"), "{text}");
    assert_eq!(text.matches("response-remove = \"Server\"").count(), 1, "{text}");
}
