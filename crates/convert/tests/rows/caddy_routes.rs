//! The ways of requests through Caddyfiles: exclusive blocks, prefixes that are taken off, and matchers that cannot be
//! written.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

/// Directives of a site, what is written of them, and whether something is left out.
type RouteCase = (&'static str, &'static str, bool);

const EXCLUSIVE: &[RouteCase] = &[
    // One `handle` of a block takes a request, wherever the others stand.
    (
        "route {\nhandle /a* {\nheader X-A b\n}\nrequest_header X-B c\nhandle {\nreverse_proxy a:80\n}\nrespond 403\n}",
        "when = { path = \"/a*\" } answer = 403",
        false,
    ),
    (
        "route {\nhandle_path /a/* {\nheader X-A b\n}\nheader X-B c\nhandle {\nreverse_proxy a:80\n}\nrespond 403\n}",
        "when = { path = \"/a/*\" } answer = 403",
        false,
    ),
    // Blocks within a block exclude each other, and not those around it.
    (
        "route {\nhandle /a* {\nhandle /ab* {\nheader X-A b\n}\nheader X-B c\nhandle {\nreverse_proxy a:80\n}\n}\nrespond 403\n}",
        "when = { path = \"/a*\", all = [{ path = \"/ab*\" }] } answer = 403",
        false,
    ),
    (
        "route {\nrewrite /a /ab\nheader X-A b\nrewrite /a* /c\nreverse_proxy a:80\n}",
        "when = { path = \"/a\" } pool = \"a-80\" rewrite = { path = \"/ab\"",
        false,
    ),
];

const BODIES: &[RouteCase] = &[
    ("request_body {\nmax_size 10MB\n}\nreverse_proxy a:80", "body-bytes = \"10000000B\"", false),
    (
        "@up path /up\nrequest_body @up {\nmax_size 1GiB\n}\nreverse_proxy a:80",
        "body-bytes = \"1GiB\" # x:6 reverse_proxy a:80 [[service.web.rule]] pool",
        false,
    ),
    ("request_body {\nmax_size x\n}\nreverse_proxy a:80", "pool = \"a-80\"", true),
    ("request_body {\nread_timeout 1s\n}\nreverse_proxy a:80", "pool = \"a-80\"", true),
];

const SORTED: &[RouteCase] = &[
    // A star at the end does not count.
    (
        "handle /api* {\nreverse_proxy a:80\n}\nhandle /apix {\nrespond 403\n}",
        "403 # x:3 reverse_proxy a:80 [[service.web.rule]] when",
        false,
    ),
];

const PREFIXES: &[RouteCase] = &[
    ("handle_path /api* {\nreverse_proxy a:80\n}", "path = [\"/api\", \"/api/*\"] }", false),
    // Caddy would send a path without a slash at its beginning.
    (
        "handle_path /api* {\nreverse_proxy a:80\n}",
        "when = { path = \"/api*\" } answer = 404",
        false,
    ),
    (
        "handle_path /api* {\nrespond /x* 403\nreverse_proxy a:80\n}",
        "when = { path = [\"/api\", \"/api/*\"], all = [{ path = \"/api/x*\" }] } answer = 403",
        false,
    ),
    (
        "handle_path /api/* {\n@b path *.bak\nrespond @b 403\nreverse_proxy a:80\n}",
        "path-regex = \"/api.*\\\\.bak\" } answer = 403",
        false,
    ),
    // Nothing is left of the path, so that no pattern with a slash fits.
    (
        "handle_path /api {\nrespond /* 403\nreverse_proxy a:80\n}",
        "when = { path = \"/api\" } pool = \"a-80\" rewrite = { strip = \"/api\"",
        false,
    ),
    (
        "handle_path /api/* {\nrewrite * /index.html\nreverse_proxy a:80\n}",
        "when = { path = \"/api/*\" } pool = \"a-80\" rewrite = { path = \"/index.html\"",
        false,
    ),
    ("uri strip_prefix /v1\nreverse_proxy a:80", "when = { path = \"/v1*\" } answer = 404", false),
    (
        "uri strip_prefix /v1\nrespond /x 403\nreverse_proxy a:80",
        "when = { path = [\"/v1\", \"/v1/*\"], all = [{ path = \"/v1/x\" }] } answer = 403",
        false,
    ),
    // The second prefix is taken off alone where the first one was not there.
    (
        "route {\nuri strip_prefix /a\nuri strip_prefix /b\nreverse_proxy a:80\n}",
        "when = { path = [\"/b\", \"/b/*\"] } pool = \"a-80\" rewrite = { strip = \"/b\"",
        false,
    ),
    (
        "route {\nuri strip_prefix /a\nuri strip_prefix /b\nreverse_proxy a:80\n}",
        "{ path = [\"/a/b\", \"/a/b/*\"] }] } pool = \"a-80\" rewrite = { strip = \"/a/b\"",
        false,
    ),
    ("uri strip_prefix /v1/\nreverse_proxy a:80", "answer = 502", true),
    ("handle_path /a%20b/* {\nreverse_proxy a:80\n}", "answer = 502", true),
    ("handle_path /a//b/* {\nreverse_proxy a:80\n}", "answer = 502", true),
];

const CLOSED: &[RouteCase] = &[
    (
        "@x expression 1\nhandle @x {\nreverse_proxy b:80\n}\nreverse_proxy a:80",
        "deny = true",
        true,
    ),
    // What the rest of the matcher does not fit goes on.
    (
        "@x {\npath /adm*\nexpression 1\n}\nhandle @x {\nreverse_proxy b:80\n}\nreverse_proxy a:80",
        "when = { path = \"/adm*\" } deny = true",
        true,
    ),
    (
        "@x {\npath /adm*\nexpression 1\n}\nredir @x https://login.example\nreverse_proxy a:80",
        "when = { path = \"/adm*\" } deny = true",
        true,
    ),
    (
        "@x {\npath /adm*\nexpression 1\n}\nrewrite @x /b\nreverse_proxy a:80",
        "when = { path = \"/adm*\" } deny = true",
        true,
    ),
    // No server stands behind it.
    ("@x expression 1\nredir @x https://login.example\nrespond ok", "body = \"ok\"", true),
    // An expression that the parser rejects.
    (
        "@x path_regexp (?=a)\nhandle @x {\nreverse_proxy b:80\n}\nreverse_proxy a:80",
        "deny = true",
        true,
    ),
    // Fields of answers decide about no server.
    ("@x expression 1\nheader @x X-A b\nreverse_proxy a:80", "pool = \"a-80\" rewrite = {", true),
    (
        "@x not {\npath /a\nmethod GET\n}\nrespond @x 403\nrespond ok",
        "not = { path = \"/a\"",
        false,
    ),
];

/// What an imported file may hold, and names that stand for several fields.
const UNKNOWN: &[RouteCase] = &[
    ("reverse_proxy a:80 {\nimport /x.conf\n}", "answer = 502", true),
    ("reverse_proxy a:80 {\ntransport http {\nimport /x.conf\n}\n}", "answer = 502", true),
    ("reverse_proxy a:80 {\nheader_up -X-Auth-*\n}", "answer = 502", true),
    ("request_header -X-Auth-*\nreverse_proxy a:80", "answer = 502", true),
    // An answer may be held back by what it says.
    ("reverse_proxy a:80 {\nhandle_response {\nrespond 403\n}\n}", "answer = 502", true),
    // A field that changes before a matcher looks at it is not the client's any more.
    (
        "request_header X-A 1\n@x header X-A 1\nrespond @x 403\nreverse_proxy a:80",
        "[[service.web.rule]] answer = 403",
        true,
    ),
    // Versions of Caddy ask for one of several parameters, or for all.
    (
        "@x {\nquery a=1\nquery b=1\n}\nrespond @x 403\nreverse_proxy a:80",
        "{ query = \"a=1\" }, { query = \"b=1\" }] } answer = 403",
        true,
    ),
    // What is not visible in a path stays encoded where rules compare.
    (
        "@x path_regexp \"^/x y$\"\nrespond @x 403\nreverse_proxy a:80",
        "path-regex = \"(?-i:/x%20y)\" }",
        false,
    ),
    // A network is written with its first address.
    (
        "@x remote_ip 10.1.2.3/8\nrespond @x 403\nreverse_proxy a:80",
        "client = \"10.0.0.0/8\" }",
        false,
    ),
    ("@x expression 1\nrequest_header @x -X-Auth-*\nreverse_proxy a:80", "answer = 502", true),
    ("@x expression 1\nrequest_header @x X-A b\nreverse_proxy a:80", "remove = [\"X-A\"]", true),
];

fn check(directives: &str, written: &str, left: bool) {
    let text = format!(":80 {{\n{directives}\n}}\n");
    let converted = convert(&text, "x", Dialect::Caddy);
    let toml = converted.text.clone().unwrap_or_else(|| panic!("{text}: {converted:?}"));
    model::config::load(&toml, "x").unwrap_or_else(|findings| panic!("{text}: {findings}"));
    let squeezed = toml.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed.contains(written), "{text}: no {written} in\n{toml}");
    let out = converted.notes.iter().any(|note| note.kind == NoteKind::LeftOut);
    assert_eq!(out, left, "{text}: {:?}", converted.notes);
    assert_eq!(converted.unsettled, 0, "{text}: {:?}", converted.notes);
}

#[test]
fn one_directive_of_an_exclusive_kind_takes_a_request() {
    EXCLUSIVE.iter().for_each(|(text, written, left)| check(text, written, *left));
}

#[test]
fn bodies_have_the_limit_of_their_requests() {
    BODIES.iter().for_each(|(text, written, left)| check(text, written, *left));
}

#[test]
fn blocks_are_sorted_by_their_paths() {
    SORTED.iter().for_each(|(text, written, left)| check(text, written, *left));
}

#[test]
fn matchers_behind_a_prefix_see_what_caddy_leaves_of_the_path() {
    PREFIXES.iter().for_each(|(text, written, left)| check(text, written, *left));
}

#[test]
fn requests_of_a_matcher_that_cannot_be_written_reach_no_other_server() {
    CLOSED.iter().for_each(|(text, written, left)| check(text, written, *left));
}

#[test]
fn what_is_not_known_of_a_proxy_closes_it() {
    UNKNOWN.iter().for_each(|(text, written, left)| check(text, written, *left));
}

#[test]
fn a_refusal_behind_an_exclusive_block_is_not_passed() {
    let text = ":80 {\nroute {\nhandle /a* {\nheader X-A b\n}\nrequest_header X-B c\nhandle {\nreverse_proxy a:80\n}\nrespond 403\n}\n}\n";
    let written = convert(text, "x", Dialect::Caddy).text.unwrap();
    let rules: Vec<&str> = written.split("[[service.web.rule]]").skip(1).collect();
    assert!(rules[0].contains("403") && rules[0].contains("/a*"), "{written}");
}

#[test]
fn clients_that_untrusted_proxies_name_are_not_known() {
    for servers in [
        "trusted_proxies cloudflare",
        "trusted_proxies static 10.0.0.0/8\nclient_ip_headers X-Real-IP",
        "client_ip_headers X-Real-IP\ntrusted_proxies static 10.0.0.0/8",
    ] {
        let text = format!(
            "{{\nservers {{\n{servers}\n}}\n}}\n:80 {{\n@in client_ip 10.0.0.0/8\nreverse_proxy @in a:80\nrespond 403\n}}\n"
        );
        let converted = convert(&text, "x", Dialect::Caddy);
        let written = converted.text.unwrap();
        assert!(!written.contains("client =") && !written.contains("trust ="), "{written}");
        assert!(converted.left_out > 0 && written.contains("answer = 403"), "{written}");
    }
}
