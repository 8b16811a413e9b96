//! Locations and names of nginx: which of them takes a request, and what servers get of it.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

use super::{ConversionCase, rows};

const LOCATIONS: &[ConversionCase] = &[
    // Modifiers need no blank.
    ("location =/a { proxy_pass http://c; }", "when = { path = \"/a\" } pool = \"c\"", false),
    ("location ~^/x { deny all; }", "when = { path-regex = \"/x.*\" } deny = true", false),
    ("location ^~/x { deny all; }", "when = { path = \"/x*\" } deny = true", false),
    // Paths are written as rules compare them.
    ("location \"/a b\" { deny all; }", "when = { path = \"/a%20b*\" } deny = true", false),
    ("location = /ü { deny all; }", "when = { path = \"/%C3%BC\" } deny = true", false),
    ("location ~ \"^/a b\" { deny all; }", "path-regex = \"/a%20b.*\" } deny = true", false),
    // What stands within a prefix comes before expressions of the server.
    (
        "location ~ y { proxy_pass http://c; } location /a { location ~ x { deny all; } proxy_pass http://c; }",
        "path-regex = \".*x.*\" } deny = true  # x:3 proxy_pass http://c [[service.web.rule]] when = { path-regex = \".*y.*\" }",
        false,
    ),
    (
        "location /a { location ~ x { deny all; } proxy_pass http://c; } location /a/b { proxy_pass http://b; }",
        "when = { path = \"/a*\", not = { path = \"/a/b*\" }, path-regex = \".*x.*\" } deny = true",
        false,
    ),
    (
        "location /a { return 301 https://$host/$cookie_a; }",
        "when = { path = \"/a*\" } answer = 502",
        true,
    ),
    ("location /a { return 200 $remote_addr; }", "when = { path = \"/a*\" } answer = 502", true),
    // A group that no expression of the path has.
    ("location /a { return 301 /x/$1; }", "when = { path = \"/a*\" } answer = 502", true),
    // Whoever is inside needs no `return`.
    (
        "location /a { internal; return 200 secret; }",
        "when = { path = \"/a*\" } answer = 404",
        false,
    ),
];

#[test]
fn locations() {
    rows(Dialect::Nginx, LOCATIONS);
}

const TARGETS: &[ConversionCase] = &[
    (
        "location = /a { proxy_pass http://c/x; }",
        "when = { path = \"/a\" } pool = \"c\" rewrite = { path = \"/x\", host = \"c\", location = [{ from = \"http://c/x\", to = \"http://{host-name}/a\" }] }",
        false,
    ),
    ("location = /a { proxy_pass http://c/a; }", "rewrite = { host = \"c\", location", false),
    ("location /a/ { proxy_pass http://c/x?y=; }", "when = { path = \"/a/*\" } answer = 502", true),
    // The name of an upstream is the Host, also with `_`.
    ("location /a { proxy_pass http://my_app; }", "rewrite = { host = \"my_app\", location", false),
    ("location /a { proxy_pass http://10.0.0.3:80; }", "rewrite = { host = \"10.0.0.3\"", false),
    ("location /a { proxy_pass http://10.0.0.3:81; }", "rewrite = { host = \"10.0.0.3:81\"", false),
    (
        "location /a { proxy_set_header Host $proxy_host; proxy_set_header X-Port $proxy_port; proxy_pass http://c; }",
        "rewrite = { host = \"c\", set = \"X-Port: 80\"",
        false,
    ),
    // Each protocol has fields of its own.
    (
        "proxy_set_header X-A a; location /a { grpc_set_header X-B b; proxy_pass http://c; }",
        "pool = \"c\" rewrite = { host = \"c\", set = \"X-A: a\"",
        false,
    ),
    (
        "proxy_set_header X-A a; location /a { grpc_set_header X-B b; grpc_hide_header X-C; grpc_pass grpc://c; }",
        "rewrite = { host = \"c\", set = \"X-B: b\", response-remove = \"X-C\" }",
        false,
    ),
    // A level with one field has none of the levels around it.
    (
        "proxy_set_header X-A a; location /a { proxy_set_header X-B b; proxy_pass http://c; }",
        "pool = \"c\" rewrite = { host = \"c\", set = \"X-B: b\", location",
        false,
    ),
];

#[test]
fn targets() {
    rows(Dialect::Nginx, TARGETS);
}

const ACCESS: &[ConversionCase] = &[
    (
        "location /a { satisfy any; allow 10.0.0.0/8; deny all; auth_basic x; proxy_pass http://c; }",
        "when = { path = \"/a*\", not = { client = \"10.0.0.0/8\" } } answer = 401",
        true,
    ),
    (
        "location /a { satisfy any; deny 10.0.0.1; allow 10.0.0.0/8; auth_basic x; proxy_pass http://c; }",
        "not = { client = \"10.0.0.0/8\", not = { client = \"10.0.0.1\" } } } answer = 401",
        true,
    ),
    // Without a password there is nothing else to satisfy.
    (
        "location /a { satisfy any; allow 10.0.0.0/8; deny all; auth_basic off; proxy_pass http://c; }",
        "not = { client = \"10.0.0.0/8\" } } deny = true",
        false,
    ),
    (
        "auth_basic x; location /a { auth_basic off; proxy_pass http://c; }",
        "when = { path = \"/a*\" } pool = \"c\"",
        true,
    ),
    // Who may use other methods is decided within `limit_except` alone.
    (
        "location /a { deny all; limit_except GET { allow all; } proxy_pass http://c; }",
        "when = { path = \"/a*\", method = [\"GET\", \"HEAD\"] } deny = true",
        false,
    ),
    ("location /a { limit_except GET { } proxy_pass http://c; }", "pool = \"c\"", false),
    (
        "location /a { limit_except GET { deny 10.0.0.1; proxy_pass http://b; } proxy_pass http://c; }",
        "not = { method = [\"GET\", \"HEAD\"] } } deny = true",
        true,
    ),
    // Rules see whom a PROXY header names, also where nginx does not believe it.
    (
        "listen 127.0.0.1:81 proxy_protocol; location /a { allow 10.0.0.5; deny all; proxy_pass http://c; }",
        "when = { path = \"/a*\" } deny = true",
        true,
    ),
];

#[test]
fn access() {
    rows(Dialect::Nginx, ACCESS);
}

/// Servers with these names, of which the first is the default.
fn named(names: &[&str]) -> String {
    let servers = names.iter().enumerate().map(|(at, name)| {
        format!("server {{ listen 127.0.0.1:80; server_name {name}; location / {{ proxy_pass http://10.0.0.{at}; }} }}\n")
    });
    let text = format!("http {{\n{} }}", servers.collect::<String>());
    let converted = convert(&text, "x", Dialect::Nginx);
    let written = converted.text.unwrap();
    model::config::load(&written, "x").unwrap();
    let left = converted.notes.iter().any(|note| note.kind == NoteKind::LeftOut);
    let rules = written.lines().filter(|line| {
        ["when", "deny", "pool"].iter().any(|key| line.starts_with(&format!("{key} = ")))
    });
    let rules: Vec<&str> = rules.skip(1).collect();
    format!("{}{}", rules.join(" "), if left { " left" } else { "" })
}

#[test]
fn names_of_servers() {
    for (names, rules) in [
        (
            &["d", "~^(?<app>.+)\\.a\\.example$"][..],
            "when = { host = \"d\" } pool = \"10-0-0-0\" when = { host-regex = \"(?<app>.+)\\\\.a\\\\.example\" } pool = \"10-0-0-1\" pool = \"10-0-0-0\"",
        ),
        (
            &["d", "www.a.*", "*.a.example"],
            "when = { host = \"d\" } pool = \"10-0-0-0\" when = { host = \"*.a.example\" } pool = \"10-0-0-2\" when = { host-regex = \"www\\\\.a\\\\..+\" } pool = \"10-0-0-1\" pool = \"10-0-0-0\"",
        ),
        // No other server answers for names that cannot be compared.
        (
            &["d", "~^(?!a)x", "b.example"],
            "when = { host = \"d\" } pool = \"10-0-0-0\" when = { host = \"b.example\" } pool = \"10-0-0-2\" deny = true left",
        ),
    ] {
        assert_eq!(named(names), rules, "{names:?}");
    }
}

const REWRITES: &[ConversionCase] = &[
    // The location of the new path takes the request, with its own access.
    (
        "location /a/ { rewrite ^/a/(.*)$ /x/$1 last; return 404; } location /x/ { deny all; proxy_pass http://c; }",
        "when = { path = \"/a/*\", path-regex = \"/a/(.*)\" } deny = true",
        false,
    ),
    (
        "rewrite ^/old/(.*)$ /new/$1 last; location /new/ { proxy_pass http://c/n/; }",
        "when = { path-regex = \"/old/(.*)\" } pool = \"c\" rewrite = { path = \"/n/{1}\", host = \"c\"",
        false,
    ),
    (
        "rewrite ^/old /in; location = /in { internal; proxy_pass http://c; }",
        "when = { path-regex = \"/old.*\" } pool = \"c\" rewrite = { path = \"/in\", host = \"c\"",
        false,
    ),
    // Which location it is, depends on the rest of the path.
    (
        "rewrite ^/old/(.*)$ /$1 last; location /x { deny all; }",
        "when = { path-regex = \"/old/(.*)\" } answer = 502",
        true,
    ),
    ("rewrite ^/w/(.*)$ /i?t=$1 last;", "when = { path-regex = \"/w/(.*)\" } answer = 502", true),
    ("rewrite ^/(?=a) /i last;", "answer = 502", true),
    (
        "rewrite ^/a /b; rewrite ^/c /d; location /b { proxy_pass http://c; }",
        "when = { path-regex = \"/a.*\" } pool = \"c\" rewrite = { path = \"/b\"",
        false,
    ),
    ("rewrite ^/a /b; rewrite ^/b /d;", "when = { path-regex = \"/a.*\" } answer = 502", true),
    // The first expression that matches ends the others.
    (
        "location /a { rewrite ^/a/x /x break; rewrite ^/a /y break; proxy_pass http://c; }",
        "when = { path = \"/a*\", path-regex = \"/a/x.*\" } pool = \"c\" rewrite = { path = \"/x\", host = \"c\"",
        false,
    ),
    (
        "location /a { rewrite ^/a/x /x break; return 404; proxy_pass http://c; }",
        "when = { path = \"/a*\", not = { path-regex = \"/a/x.*\" } } answer = 404",
        false,
    ),
    (
        "location /a { rewrite ^/a/(.*) /x?y=$1 break; proxy_pass http://c; }",
        "when = { path = \"/a*\", path-regex = \"/a/(.*).*\" } answer = 502",
        true,
    ),
    (
        "if ($uri ~ ^/ok) { break; } return 301 https://$host$request_uri;",
        "when = { not = { path-regex = \"/ok.*\" } } redirect",
        false,
    ),
    ("rewrite ^/a https://x/$cookie_a permanent;", "answer = 502", true),
];

#[test]
fn rewrites() {
    rows(Dialect::Nginx, REWRITES);
}

const BLOCKS: &[ConversionCase] = &[
    (
        "location /a { if ($http_x = 1) { proxy_pass http://b; } proxy_pass http://c; }",
        "when = { path = \"/a*\", header = \"x: 1\" } pool = \"b\"",
        false,
    ),
    // The last block that holds counts, and `break` ends them.
    (
        "location /a { if ($http_x = 1) { proxy_pass http://b; } if ($http_y = 1) { add_header Z z; } proxy_pass http://c; }",
        "when = { path = \"/a*\", header = \"y: 1\" } pool = \"c\" rewrite = { host = \"c\", response-add",
        false,
    ),
    (
        "location /a { if ($http_x = 1) { proxy_pass http://b; break; } if ($http_y = 1) { add_header Z z; } proxy_pass http://c; }",
        "when = { path = \"/a*\", header = \"y: 1\", not = { header = \"x: 1\" } } pool = \"c\"",
        false,
    ),
    (
        "location /a { if ($http_x = 1) { rewrite ^ /x break; } proxy_pass http://c; }",
        "when = { path = \"/a*\", header = \"x: 1\" } pool = \"c\" rewrite = { path = \"/x\", host = \"c\"",
        false,
    ),
    // Who may be meant reaches no server that another one was to get.
    (
        "location /a { if ($blocked) { proxy_pass http://b; } proxy_pass http://c; }",
        "when = { path = \"/a*\" } answer = 502",
        true,
    ),
    (
        "location /a { if ($blocked) { add_header X x; } proxy_pass http://c; }",
        "pool = \"c\"",
        true,
    ),
    (
        "location /a { if ($http_x = 1) { access_log off; return 204; } proxy_pass http://c; }",
        "when = { path = \"/a*\", header = \"x: 1\" } answer = 204",
        false,
    ),
    // No file is served, so that none is there.
    (
        "location /a { if (!-f $request_filename) { proxy_pass http://b; break; } root /x; }",
        "when = { path = \"/a*\" } pool = \"b\"",
        true,
    ),
    ("if ($http_x = 1) { include y; }", "when = { header = \"x: 1\" } deny = true", true),
];

#[test]
fn blocks() {
    rows(Dialect::Nginx, BLOCKS);
}

#[test]
fn the_redirect_to_a_location_with_a_slash_has_the_fields_of_the_location() {
    let text = "http { server { listen 127.0.0.1:80; location /a/ { add_header X-A 1; \
                location /a/b/ { add_header X-B 2; proxy_pass http://10.0.0.1; } \
                proxy_pass http://10.0.0.1; } } }";
    let toml = convert(text, "x", Dialect::Nginx).text.unwrap();
    model::config::load(&toml, "x").unwrap();
    for (path, field) in [("/a", "X-A: 1"), ("/a/b", "X-B: 2")] {
        let begin = format!("when = {{ path = \"{path}\" }}\nredirect");
        let rule = toml.split(&begin).nth(1).unwrap_or_else(|| panic!("{path} in\n{toml}"));
        let rule = rule.split("\n\n").next().unwrap();
        assert!(rule.contains(&format!("response-add = [{{ field = \"{field}\"")), "{rule}");
    }
}
