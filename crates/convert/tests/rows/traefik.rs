//! Rules, middlewares and labels of Traefik, one row each.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::{ConversionResult, convert};

/// A file with a router, its middleware, and a further router for everything.
pub(super) fn http_file(rule: &str, middleware: &str) -> String {
    let (chain, table) = match middleware {
        "" => ("", String::new()),
        middleware => {
            ("\n      middlewares: [m]", format!("  middlewares:\n    m: {middleware}\n"))
        }
    };
    format!(
        "entryPoints:\n  web: {{ address: ':80' }}\nhttp:\n  routers:\n    one:\n      rule: '{rule}'\n      priority: 100{chain}\n      service: s\n\
         \x20   all:\n      rule: PathPrefix(`/`)\n      service: s\n{table}\
         \x20 services:\n    s: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.1:80' }}] }} }}\n"
    )
}

pub(super) fn converted(text: &str) -> ConversionResult {
    let converted = convert(text, "x", Dialect::Traefik);
    assert_eq!(converted.unsettled, 0, "{text}: {:?}", converted.notes);
    if let Some(written) = &converted.text {
        model::config::load(written, "x").unwrap_or_else(|findings| panic!("{text}: {findings}"));
    }
    converted
}

/// Texts that have to be in the output, and whether something is left out.
pub(super) fn check(text: &str, written: &[&str], left: bool) {
    let result = converted(text);
    let toml = result.text.clone().unwrap_or_default();
    for part in written {
        assert!(toml.contains(part), "{text}: no {part} in\n{toml}");
    }
    let out = result.notes.iter().any(|note| note.kind == NoteKind::LeftOut);
    assert_eq!(out, left, "{text}: {:?}", result.notes);
}

#[test]
fn rules_become_conditions_in_the_order_of_their_priority() {
    for (rule, when, left) in [
        ("Host(`a.example`)", "when = { host = \"a.example\" }\npool = \"s\"", false),
        ("Path(`/a`) && !ClientIP(`10.0.0.0/8`)", "not = { client = \"10.0.0.0/8\" }", false),
        (
            "Header(`X-A`, `1`) || Query(`a`, `b`)",
            "any = [{ header = \"X-A: 1\" }, { query = \"a=b\" }]",
            false,
        ),
        // What cannot be written is closed, and goes to no broader router.
        (
            "Host(`a.example`) && QueryRegexp(`a`, `b+`)",
            "when = { host = \"a.example\" }\ndeny = true",
            true,
        ),
        (
            "Host(`a.example`) && HostRegexp(`(`)",
            "when = { host = \"a.example\" }\ndeny = true",
            true,
        ),
        ("Host(`a.example`) && Wizard(`x`)", "when = { host = \"a.example\" }\ndeny = true", true),
        ("Host(`a.example`", "name = \"one\"\ndeny = true", true),
        ("!QueryRegexp(`a`, `b+`)", "name = \"one\"\ndeny = true", true),
    ] {
        check(&http_file(rule, ""), &[when], left);
    }
    let long = "Host(`a.example`) && PathPrefix(`/long`)";
    let text = http_file(long, "").replace("priority: 100", "priority: 1");
    let written = converted(&text).text.unwrap();
    assert!(!written.contains("/long"), "a router for everything is asked first:\n{written}");
}

#[test]
fn middlewares_become_keys_of_rules() {
    for (middleware, written, left) in [
        ("{ addPrefix: { prefix: /v1 } }", "prefix = \"/v1\"", false),
        ("{ stripPrefix: { prefixes: [/a] } }", "strip = \"/a\"", false),
        ("{ stripPrefix: { prefixes: [/a] } }", "X-Forwarded-Prefix: /a", false),
        ("{ replacePath: { path: /x } }", "path = \"/x\"", false),
        (
            "{ replacePathRegex: { regex: ^/a/(.*), replacement: /b/$1 } }",
            "path = \"/b/{1}\"",
            false,
        ),
        ("{ headers: { customRequestHeaders: { X-A: b, X-C: \"\" } } }", "remove = \"X-C\"", false),
        (
            "{ headers: { customResponseHeaders: { X-A: b } } }",
            "response-remove = \"X-A\", response-add = [{ field = \"X-A: b\", own = true }]",
            false,
        ),
        ("{ headers: { stsSeconds: 60, forceSTSHeader: true } }", "max-age=60", false),
        (
            "{ headers: { allowedHosts: [b.example] } }",
            "not = { header = \"host: b.example\", value-case = \"ignore\" }",
            false,
        ),
        ("{ headers: { accessControlAllowOriginList: [\"*\"] } }", "pool = \"s\"", true),
        (
            "{ redirectScheme: { scheme: https, port: 8443, permanent: true } }",
            "https://{host-name}:8443{path}{query}\", status = 301",
            false,
        ),
        (
            "{ redirectRegex: { regex: ^http://(.*), replacement: \"https://$1\" } }",
            "status = 302",
            false,
        ),
        (
            "{ ipAllowList: { sourceRange: [10.0.0.0/8] } }",
            "not = { client = \"10.0.0.0/8\" }, path = \"/a*\" }\ndeny = true",
            false,
        ),
        (
            "{ ipAllowList: { sourceRange: [10.0.0.0/8], rejectStatusCode: 404 } }",
            "answer = 404",
            false,
        ),
        (
            "{ rateLimit: { average: 60, period: 1m, burst: 5 } }",
            "limit = { rate = 1, burst = 5, by = \"address\"",
            false,
        ),
        (
            "{ rateLimit: { average: 5, sourceCriterion: { requestHeaderName: X-Key } } }",
            "by = \"header\", header = \"X-Key\"",
            false,
        ),
        ("{ rateLimit: { average: 1, period: 1m } }", "pool = \"s\"", true),
        ("{ retry: { attempts: 3 } }", "retries = 2", false),
        (
            "{ buffering: { maxRequestBodyBytes: 1000 } }",
            "buffer = { request = \"1000B\", when-larger = \"refuse\" }",
            false,
        ),
        ("{ buffering: { maxRequestBodyBytes: 2147483648 } }", "body-bytes = \"2GiB\"", false),
        ("{ compress: { encodings: [br] } }", "compress = { codings = \"br\"", false),
        ("{ inFlightReq: { amount: 5 } }", "pool = \"s\"", true),
        ("{ chain: { middlewares: [m] } }", "answer = 503", true),
    ] {
        check(&http_file("PathPrefix(`/a`)", middleware), &[written], left);
    }
}

/// Traefik puts a prefix before what is left of a path, also where nothing is left.
#[test]
fn a_path_that_is_taken_off_whole_becomes_the_prefix_alone() {
    let file = |more: &str| {
        let middlewares = format!(
            "{{ chain: {{ middlewares: [x, y] }} }}\n    x: {{ stripPrefix: {{ prefixes: [/a]{more} }} }}\n    \
             y: {{ addPrefix: {{ prefix: /b }} }}"
        );
        http_file("PathPrefix(`/a`)", &middlewares)
    };
    let below = "rewrite = { strip = \"/a\", prefix = \"/b\"";
    let whole = "rewrite = { path = \"/b\"";
    check(&file(""), &["path = \"/a\"", whole, below], false);
    let forced = converted(&file(", forceSlash: true")).text.unwrap();
    assert!(forced.contains(below) && !forced.contains(whole), "{forced}");
}

/// Whoever was asked for a name is refused, and what does not change a path as it was is closed.
#[test]
fn access_that_cannot_be_written_is_closed() {
    for (middleware, refusal) in [
        ("{ basicAuth: { users: [\"a:b\"] } }", "answer = 401"),
        ("{ digestAuth: { usersFile: /users } }", "answer = 401"),
        ("{ forwardAuth: { address: \"http://auth\" } }", "answer = 401"),
        ("{ plugin: { wall: {} } }", "answer = 401"),
        ("{ jwt: { signingSecret: x } }", "answer = 401"),
        (
            "{ ipAllowList: { sourceRange: [10.0.0.0/8], ipStrategy: { depth: 1 } } }",
            "answer = 403",
        ),
        ("{ ipAllowList: { sourceRange: [office] } }", "answer = 403"),
        ("{ ipAllowList: { sourceRange: [] } }", "answer = 403"),
        ("{ ipWhiteList: {} }", "answer = 403"),
        ("{ replacePathRegex: { regex: (a|b), replacement: /c } }", "answer = 503"),
        ("{ stripPrefixRegex: { regex: [\"/(a)\"] } }", "answer = 503"),
        ("{ redirectRegex: { regex: x, replacement: y } }", "answer = 503"),
        ("{}", "answer = 503"),
    ] {
        let text = http_file("PathPrefix(`/a`)", middleware);
        check(&text, &[&format!("when = {{ path = \"/a*\" }}\n{refusal}")], true);
        let missing = text.replace("middlewares: [m]", "middlewares: [elsewhere@file]");
        check(&missing, &["when = { path = \"/a*\" }\nanswer = 503"], true);
    }
}

#[test]
fn labels_of_containers_are_options() {
    let file = |labels: &str| {
        format!("services:\n  app:\n    image: app\n    expose: ['3000']\n    labels:\n{labels}\n")
    };
    let rule = "      - traefik.http.routers.r.rule=Host(`a.example`)\n      - traefik.http.routers.r.entrypoints=web\n";
    for (labels, written, left) in [
        ("", "\"app:3000\"", false),
        ("      - traefik.http.services.s.loadbalancer.server.port=80\n", "\"app:80\"", false),
        ("      - TRAEFIK.HTTP.Services.s.LoadBalancer.Server.Port=81\n", "\"app:81\"", false),
        (
            "      - traefik.http.middlewares.m.basicauth.users=a:b\n      - traefik.http.routers.r.middlewares=m\n",
            "answer = 401",
            true,
        ),
        ("      - traefik.http.routers.r.rule=Host(`b.example`)\n", "a.example", true),
        ("      - traefik.http..x=1\n", "a.example", true),
    ] {
        check(&file(&format!("{rule}{labels}")), &[written], left);
    }
    let variable = rule.replace("a.example", "${DOMAIN}");
    assert_eq!(converted(&file(&variable)).text, None, "a variable has still to be filled in");
}

/// Deep and large input is refused or reported, and never followed without end.
#[test]
fn hostile_input_ends() {
    let deep = format!("{}Host(`a`){}", "(".repeat(5_000), ")".repeat(5_000));
    let long = vec!["Host(`a`)"; 5_000].join(" || ");
    for rule in [deep, long] {
        check(&http_file(&rule, ""), &["deny = true"], true);
    }
    let label = format!("      - traefik.{}=1\n", vec!["a"; 5_000].join("."));
    let list = "      - traefik.http.routers.r.tls.domains[99999999].main=a\n";
    let text = format!("services:\n  app:\n    image: app\n    labels:\n{label}{list}");
    assert!(converted(&text).left_out >= 2);
}

#[test]
fn routers_of_one_priority_that_may_take_the_same_requests_are_reported() {
    for (one, other, are_reported) in [
        ("rule: 'Path(`/status`)'", "rule: 'PathPrefix(`/`)'", true),
        ("rule: 'Path(`/status`)'", "rule: 'PathPrefix(`/x`)'", false),
        ("rule: 'PathPrefix(`/status`)'", "rule: 'PathPrefix(`/`)'", false),
        ("rule: 'Path(`/a`)', priority: 7", "rule: 'PathPrefix(`/`)', priority: 7", true),
        ("rule: 'Path(`/a`)', entryPoints: [web]", "rule: 'Path(`/a`)', entryPoints: [b]", false),
    ] {
        let text = format!(
            "entryPoints:\n  web: {{ address: ':80' }}\n  b: {{ address: ':81' }}\nhttp:\n  routers:\n    one: {{ {one}, service: s }}\n    other: {{ {other}, service: s }}\n  services:\n    s: {{ loadBalancer: {{ servers: [{{ url: 'http://10.0.0.1' }}] }} }}\n",
        );
        let notes = converted(&text).notes;
        let tied = notes.iter().filter(|note| note.reason.contains("the same priority"));
        let lines: Vec<u32> = tied.map(|note| note.line).collect();
        assert_eq!(lines, if are_reported { vec![6, 7] } else { vec![] }, "{one}; {other}");
    }
}
