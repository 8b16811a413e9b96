//! Conversion of error pages of HAProxy and nginx.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

use super::{ConversionCase, rows};

const HAPROXY: &[ConversionCase] = &[
    (
        "errorfile 403 /e/403.http\n errorfile 502 /e/502.http\n errorfile 503 /e/503.http",
        "error-page = [   { status = 403, file = \"/e/403.http\", format = \"http\" }, # line 5   { status = 502, \
         file = \"/e/502.http\", format = \"http\" }, # line 6   { status = 503",
        false,
    ),
    // A server that cannot be reached is 502 here and 503 there.
    ("errorfile 503 /e/503.http", "{ status = [502, 503], file = \"/e/503.http\"", false),
    ("errorfile 503 /e/a.http\n errorfile 503 /e/b.http", "file = \"/e/b.http\"", false),
    ("errorfile 408 /dev/null", "pool = \"b\"", false),
    ("errorfile 500 /dev/null", "pool = \"b\"", true),
    ("errorfile 200 /e/200.http", "pool = \"b\"", true),
    (
        "errorloc 504 https://s.example/a",
        "{ status = 504, as = 302, headers = \"Location: https://s.example/a\" }",
        false,
    ),
    ("errorloc302 504 /a", "as = 302", false),
    ("errorloc303 504 /a", "as = 303", false),
    ("http-error status 404 errorfile /e/404.http", "format = \"http\"", false),
    (
        "http-error status 404 content-type text/plain file /e/404.txt hdr x-a b",
        "{ status = 404, type = \"text/plain\", file = \"/e/404.txt\", headers = \"x-a: b\" }",
        false,
    ),
    (
        "http-error status 404 content-type text/plain string nothing",
        "{ status = 404, type = \"text/plain\", body = \"nothing\" }",
        false,
    ),
    ("http-error status 404 content-type text/plain lf-string '100%%'", "body = \"100%\"", false),
    ("http-error status 404 content-type a/b lf-string '%[src]'", "pool = \"b\"", true),
    ("http-error status 404 content-type a/b lf-file /a", "pool = \"b\"", true),
    ("errorfiles absent", "pool = \"b\"", true),
    // A backend without servers, as a page for everything that is down.
    (
        "use_backend d if { path /a }\nbackend d\n mode http\n errorfile 503 /e/503.http",
        "error-page = [   { status = [502, 503], file = \"/e/503.http\"",
        false,
    ),
    (
        "http-request deny deny_status 429 content-type text/plain string slow if { path /a }",
        "answer = { status = 429, type = \"text/plain\", body = \"slow\" }",
        false,
    ),
    (
        "http-request deny content-type text/plain lf-string no if { path /a }",
        "answer = { status = 403, type = \"text/plain\", body = \"no\" }",
        false,
    ),
    ("http-request deny default-errorfiles if { path /a }", "deny = true", false),
    ("http-request deny errorfile /a if { path /a }", "deny = true", false),
    (
        "http-request return status 404 default-errorfiles if { path /a }",
        "answer = { status = 404 }",
        false,
    ),
    // A body that is not fixed is not sent, and the refusal stays.
    (
        "http-request return status 404 content-type a/b lf-string '%[src]' if { path /a }",
        "answer = 404",
        false,
    ),
];

#[test]
fn haproxy_rows() {
    rows(Dialect::Haproxy, HAPROXY);
}

const NGINX: &[ConversionCase] = &[
    (
        "root /srv/www; error_page 500 502 503 504 /50x.html; location = /50x.html { }",
        "error-page = [   { status = [500, 502, 503, 504], file = \"/srv/www/50x.html\" }",
        false,
    ),
    (
        "error_page 404 /404.json; location = /404.json { root /srv/; internal; }",
        "{ status = 404, file = \"/srv/404.json\", type = \"application/json\" }",
        false,
    ),
    (
        "error_page 403 404 =200 /e/a.html; location ^~ /e/ { alias /srv/pages/; }",
        "{ status = [403, 404], file = \"/srv/pages/a.html\", as = 200 }",
        false,
    ),
    ("error_page 404 = /a.html; location = /a.html { root /a; }", "as = 200", false),
    // A pool without a usable server is 503 here and 502 there.
    ("error_page 502 /a.html; location = /a.html { root /a; }", "status = [502, 503]", false),
    (
        "error_page 404 https://s.example/;",
        "{ status = 404, as = 302, headers = \"Location: https://s.example/\" }",
        false,
    ),
    ("error_page 404 =301 https://s.example/;", "as = 301", false),
    ("error_page 404 https://s.example$request_uri;", "pool = \"b\"", true),
    (
        "error_page 503 @sorry; location @sorry { return 503 \"back soon\"; }",
        "{ status = 503, body = \"back soon\", type = \"text/plain\" }",
        false,
    ),
    ("error_page 404 = /a; location = /a { return 410 gone; }", "as = 410", false),
    ("error_page 404 @app; location @app { proxy_pass http://c; }", "pool = \"b\"", true),
    ("error_page 404 /404.html;", "pool = \"b\"", true),
    ("error_page 404 /a.html; location = /a.html { root html; }", "pool = \"b\"", true),
    (
        "error_page 404 /a.html; location = /a.html { root /a; try_files x =404; }",
        "answer = 404",
        true,
    ),
    ("error_page 404 497 /a.html; location = /a.html { root /a; }", "status = 404, file", true),
    ("location /x { error_page 404 /y; proxy_pass http://c; }", "pool = \"c\"", true),
    (
        "proxy_intercept_errors on; error_page 502 /a.html; location = /a.html { root /a; }",
        "{ status = 502, file = \"/a/a.html\", intercept = true }, # line 3   { status = 503, file = \"/a/a.html\" }",
        false,
    ),
    ("proxy_intercept_errors on;", "pool = \"b\"", false),
    ("proxy_intercept_errors off; recursive_error_pages on;", "pool = \"b\"", false),
    (
        "error_page 404 https://s.example/; location /x { proxy_intercept_errors on; proxy_pass http://c; }",
        "{ status = 404, as = 302, headers = \"Location: https://s.example/\" }",
        true,
    ),
    ("root /srv/www;", "pool = \"b\"", true),
];

#[test]
fn nginx_rows() {
    rows(Dialect::Nginx, NGINX);
}

/// HAProxy's pages of `defaults`, of sets and of several backends.
#[test]
fn pages_of_backends_and_sets_meet_in_one_service() {
    let file = |defaults: &str, front: &str, b: &str, c: &str| {
        format!(
            "defaults\n mode http\n{defaults}http-errors site\n errorfile 404 /s/404.http\n errorfile 503 /s/503.http\n\
             frontend f\n bind 127.0.0.1:80\n{front} use_backend c if {{ path /c }}\n default_backend b\n\
             backend b\n{b} server s 10.0.0.1:80\nbackend c\n{c} server s 10.0.0.2:80\n"
        )
    };
    let page = |status: &str, path: &str| {
        format!("{{ status = {status}, file = \"{path}\", format = \"http\" }}")
    };
    for (text, written, left) in [
        (file(" errorfile 504 /d.http\n", "", "", ""), vec![page("504", "/d.http")], 0),
        (
            file("", " errorfiles site\n", "", ""),
            vec![page("404", "/s/404.http"), page("[502, 503]", "/s/503.http")],
            0,
        ),
        (file("", " errorfiles site 404\n", "", ""), vec![page("404", "/s/404.http")], 0),
        // Failures of servers have the page of the backend, and refusals that of the frontend.
        (
            file(
                "",
                " errorfile 504 /f.http\n errorfile 403 /f.http\n",
                " errorfile 504 /b.http\n errorfile 403 /b.http\n",
                "",
            ),
            vec![page("403", "/f.http"), page("504", "/b.http")],
            2,
        ),
        (
            file("", "", " errorfile 504 /b.http\n", " errorfile 504 /c.http\n"),
            vec![page("504", "/b.http")],
            1,
        ),
        // One backend has no page, and clients get that of the other one.
        (file("", "", " errorfile 504 /b.http\n", ""), vec![page("504", "/b.http")], 0),
    ] {
        let converted = convert(&text, "x", Dialect::Haproxy);
        let toml = converted.text.clone().unwrap();
        model::config::load(&toml, "x").unwrap_or_else(|findings| panic!("{text}: {findings}"));
        for page in &written {
            assert!(toml.contains(page), "{text}: no {page} in\n{toml}");
        }
        assert_eq!(toml.matches("format = ").count(), written.len(), "{text}\n{toml}");
        let out = converted.notes.iter().filter(|note| note.kind == NoteKind::LeftOut);
        assert_eq!(out.count(), left, "{text}: {:?}", converted.notes);
        let is_shared = converted.notes.iter().any(|note| note.reason.contains("other backends"));
        let pages = text.matches("/b.http").count() + text.matches("/c.http").count();
        assert_eq!(is_shared, pages == 1, "{text}: {:?}", converted.notes);
        assert_eq!(converted.unsettled, 0, "{text}");
    }
}

#[test]
fn names_of_one_address_share_their_pages() {
    let server = |name: &str, more: &str| {
        format!(
            "server {{ listen 127.0.0.1:80; server_name {name}; {more} location / {{ proxy_pass http://10.0.0.1; }} }}\n"
        )
    };
    let page = |path: &str| format!("error_page 404 {path}; location = {path} {{ root /srv; }}");
    for (first, second, written, changed, left) in [
        (page("/a.html"), page("/a.html"), vec!["/srv/a.html"], false, false),
        (page("/a.html"), String::new(), vec!["/srv/a.html"], true, false),
        (page("/a.html"), page("/b.html"), vec!["/srv/a.html"], false, true),
    ] {
        let text =
            format!("http {{ {}{} }}", server("a.example", &first), server("b.example", &second));
        let converted = convert(&text, "x", Dialect::Nginx);
        let toml = converted.text.clone().unwrap();
        assert_eq!(toml.matches("file = ").count(), written.len(), "{text}\n{toml}");
        assert!(written.iter().all(|path| toml.contains(path)), "{toml}");
        let shared = |note: &&convert::notes::ConversionNote| note.reason.contains("every name");
        assert_eq!(converted.notes.iter().any(|note| shared(&note)), changed, "{text}");
        let out = converted.notes.iter().any(|note| note.kind == NoteKind::LeftOut);
        assert_eq!((out, converted.unsettled), (left, 0), "{text}: {:?}", converted.notes);
    }
}
