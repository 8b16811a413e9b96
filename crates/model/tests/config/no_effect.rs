//! Settings that can never have their effect: rejected if a request would be handled otherwise than intended, warned of
//! if a setting merely has no effect. A row each, with its key path and a part of the message.

use model::config::Severity;

use super::support::{BASE, findings, good};

/// The configuration, the key path, the message, the suggestion.
type NoEffectRow<'r> = (String, &'r str, &'r str, &'r str);

fn service(more: &str) -> String {
    BASE.replace("pool = \"web\"\n", &format!("pool = \"web\"\n{more}\n"))
}

pub fn rule(rule: &str) -> String {
    service(&format!("rule = [{{ {rule} }}]"))
}

pub fn when(when: &str) -> String {
    rule(&format!("when = {{ {when} }}, deny = true"))
}

fn tls(more: &str) -> String {
    service(&format!("tls = {{ certificates = \"/c.pem\" }}\n{more}"))
}

fn pool(more: &str) -> String {
    format!("{BASE}{more}\n")
}

pub fn check_rows(severity: Severity, rows: &[NoEffectRow<'_>]) {
    for (text, key, says, suggests) in rows {
        let found = findings(text);
        let one = found.iter().find(|one| one.key == *key && one.severity == severity);
        let one = one.unwrap_or_else(|| panic!("{key} in {found:#?}\n{text}"));
        let whole = format!("{} {}", one.message, one.expected.clone().unwrap_or_default());
        assert!(whole.contains(says), "{key}: {whole}");
        assert!(one.expected.is_some() || severity == Severity::Warning, "{one:?}");
        let suggested = one.suggestion.clone().unwrap_or_default();
        assert_eq!(suggested, *suggests, "{one:?}");
    }
}

#[test]
fn conditions_that_hold_for_nothing_or_everything_are_refused() {
    const WHEN: &str = "service.shop.rule[0].when";
    let at = |key: &str| format!("{WHEN}{key}");
    let any = at(".any");
    let all = at(".all");
    let client = at(".client");
    let path = at(".path");
    let method = at(".method");
    let cookie = at(".cookie");
    let inner = at(".any[0]");
    let not = at(".not");
    let regex = at(".path-regex");
    check_rows(
        Severity::Error,
        &[
            (when("any = []"), &any, "of no conditions none holds", ""),
            (when("all = []"), &all, "holds for everything", ""),
            (when("any = [{}]"), &inner, "empty condition", ""),
            (when("not = {}"), &not, "empty condition", ""),
            (when("client = []"), &client, "no client is in it", ""),
            (when("method = \"get\""), &method, "letter case", "\"GET\""),
            (when("method = \"Propfind\""), &method, "letter case", "\"PROPFIND\""),
            (when("method = \"CONNECT\""), &method, "refused before a rule", ""),
            (when("method = \"a b\""), &method, "not a method", ""),
            (when("cookie = \"a;b=c\""), &cookie, "`;` ends a cookie", ""),
            (when("cookie = \"=b\""), &cookie, "not a cookie", ""),
            (when("path = \"/ü\""), &path, "percent-encoded", "\"/%C3%BC\""),
            (when("path = \"/a b*\""), &path, "percent-encoded", "\"/a%20b*\""),
            (when("path-regex = \"/ü.*\""), &regex, "`%C3%BC` instead", ""),
            (when("path-regex = \"/%c3%bc\""), &regex, "`%C3`", ""),
            (
                pool("probe = { http = \"/\", method = \"head\" }"),
                "pool.web.probe.method",
                "case",
                "\"HEAD\"",
            ),
        ],
    );
    check_rows(
        Severity::Warning,
        &[
            (when("cookie = \"a=b;c\""), &cookie, "fits no cookie as it is sent", ""),
            (when("cookie = \"a= b\""), &cookie, "fits no cookie as it is sent", ""),
        ],
    );
    for fits in [
        when("method = \"get2\""),
        when("method = \"MKCOL\""),
        when("path-regex = \"(?i)/%c3%bc\""),
        service(
            "path-normalization = \"raw\"\nrule = [{ when = { path-regex = \"/%c3\" }, deny = true }]",
        ),
        when("path = \"/%C3%BC\", cookie = \"a=b c\", query = \"q= x\", header = \"x-a:  b \""),
        when("any = [{ path = \"/a\" }]"),
    ] {
        assert_eq!(good(&fits).warnings, [], "{fits}");
    }
}

#[test]
fn what_a_rule_writes_can_be_filled_and_sent() {
    let at = |key: &str| format!("service.shop.rule[0].{key}");
    let to = at("redirect.to");
    let path = at("rewrite.path");
    let strip = at("rewrite.strip");
    let prefix = at("rewrite.prefix");
    let body = at("answer.body");
    let headers = at("answer.headers");
    let regex = "when = { path-regex = \"/(a)/.*\" }";
    check_rows(
        Severity::Error,
        &[
            (rule("rewrite = { path = \"/a?b\" }"), &path, "the query stays", ""),
            (rule("rewrite = { path = \"/a#b\" }"), &path, "a path ends before", ""),
            (rule("rewrite = { strip = \"/a?b\" }"), &strip, "a path ends before", ""),
            (rule("rewrite = { prefix = \"/a?b\" }"), &prefix, "a path ends before", ""),
            (rule("rewrite = { prefix = \"/ü\" }"), &prefix, "percent-encoded", "\"/%C3%BC\""),
            (rule("rewrite = { path = \"/{rest}\" }"), &path, "`{rest}` is always empty", ""),
            (rule("when = { path = \"/a\" }, redirect = \"/{rest}\""), &to, "always empty", ""),
            (rule("when = { path = \"/*/a\" }, redirect = \"/{rest}\""), &to, "always empty", ""),
            (
                rule("when = { any = [{ path = \"/a*\" }] }, redirect = \"/{rest}\""),
                &to,
                "always empty",
                "",
            ),
            (rule(&format!("{regex}, redirect = \"/{{9}}\"")), &to, "has 1 group", ""),
            (
                rule(&format!("{regex}, rewrite = {{ path = \"/{{2}}\" }}")),
                &path,
                "has 1 group",
                "",
            ),
            (rule("redirect = \"/a?b=1{query}\""), &to, "not both", ""),
            (rule("redirect = \"/a{more-query}\""), &to, "no query in front of it", ""),
            (rule("redirect = \"https://a{more-query}?b\""), &to, "no query in front of it", ""),
            (rule("answer = { status = 204, body = \"x\" }"), &body, "204 has no body", ""),
            (rule("answer = { status = 205, body = \"x\" }"), &body, "205 has no body", ""),
            (rule("answer = { status = 304, body = \"x\" }"), &body, "304 has no body", ""),
            (
                rule("answer = { status = 200, body = \"x\", headers = \"Content-Type: a/b\" }"),
                &headers,
                "two fields",
                "",
            ),
        ],
    );
    let set = at("rewrite.set");
    let remove = at("rewrite.remove");
    let kind = at("answer.type");
    check_rows(
        Severity::Warning,
        &[
            (rule("rewrite = { set = [\"a: 1\", \"A: 2\"] }"), &set, "set twice", ""),
            (rule("rewrite = { set = \"a: 1\", remove = \"A\" }"), &remove, "set as well", ""),
            (rule("answer = { status = 404, type = \"text/html\" }"), &kind, "no `body`", ""),
        ],
    );
    for fits in [
        rule("when = { path = [\"/a\", \"/b/*\"] }, redirect = \"/{rest}\""),
        rule("when = { all = [{ path = \"/b/*\" }] }, rewrite = { path = \"/{rest}\" }"),
        rule("when = { all = [{ path-regex = \"/(a)\" }] }, rewrite = { path = \"/{1}{query}\" }"),
        rule("when = { path-regex = [\"/a\", \"/(a)(b)\"] }, redirect = \"/{2}?x=1#y\""),
        rule("answer = { status = 204, headers = \"x-a: b\" }"),
        rule("answer = { status = 204, headers = \"content-type: a/b\" }"),
    ] {
        assert_eq!(good(&fits).warnings, [], "{fits}");
    }
}

#[test]
fn networks_of_ipv4_in_ipv6_form_are_refused_wherever_networks_stand() {
    const MAPPED: &str = "\"::ffff:10.0.0.0/104\"";
    let tcp = |more: &str| {
        format!("{BASE}[service.t]\nlisten = \":9\"\nforward = \"tcp\"\npool = \"web\"\n{more}\n")
    };
    let packets = |more: &str| {
        format!(
            "{BASE}[service.t]\nlisten = \"192.0.2.1:9\"\nforward = \"nat\"\npool = \"n\"\n{more}\n[pool.n]\nservers = [\"10.0.0.3:9\"]\n"
        )
    };
    let net = "\"10.0.0.0/8\"";
    check_rows(
        Severity::Error,
        &[
            (
                when(&format!("client = {MAPPED}")),
                "service.shop.rule[0].when.client",
                "IPv6 form",
                net,
            ),
            (service(&format!("trust = {MAPPED}")), "service.shop.trust", "IPv6 form", net),
            (tcp(&format!("accept-proxy = {MAPPED}")), "service.t.accept-proxy", "IPv6 form", net),
            (tcp("accept-proxy = []"), "service.t.accept-proxy.from", "no header is ever read", ""),
            (
                packets(&format!("guard = {{ deny = {MAPPED} }}")),
                "service.t.guard.deny",
                "IPv6 form",
                net,
            ),
            (
                format!("{BASE}[capture.c]\nfrom = \"::ffff:192.0.2.7\"\nerrors = 1\n"),
                "capture.c.from",
                "IPv6 form",
                "\"192.0.2.7/32\"",
            ),
            (
                format!("{BASE}[pool.p]\nservers = [\"[::ffff:10.0.0.1]:80\"]\n"),
                "pool.p.servers[0]",
                "IPv6 form",
                "\"10.0.0.1:80\"",
            ),
        ],
    );
    for fits in ["::/0", "::ffff:0:0:0/96", "::/64"] {
        good(&when(&format!("client = \"{fits}\"")));
    }
}

#[test]
fn bodies_that_are_never_looked_at_and_sessions_that_are_never_resumed_are_refused() {
    let sticky = "sticky = { by = \"tls-session\", expire = \"1h\" }";
    let off = "tls = { certificates = \"/c.pem\", tickets = \"off\" }";
    check_rows(
        Severity::Error,
        &[
            (
                service("buffer = { when-larger = \"refuse\" }"),
                "service.shop.buffer.when-larger",
                "`request",
                "",
            ),
            (
                service(&format!("{off}\n{sticky}")),
                "service.shop.sticky.by",
                "`tls.tickets` is off",
                "",
            ),
        ],
    );
    good(&tls(sticky));
    good(&service("buffer = { request = \"64MiB\", when-larger = \"refuse\" }"));
}

#[test]
fn settings_without_effect_on_disabled_or_unbuffered_features_are_warned_of() {
    let at = |key: &str| format!("service.shop.{key}");
    let h2 = at("http2.streams");
    let h3 = at("http3.alt-svc");
    let memory = at("buffer.memory");
    let retries = |key: &str| pool(&format!("retries = 0\nretry = {{ {key} }}"));
    check_rows(
        Severity::Warning,
        &[
            (service("http2.streams = 7"), &h2, "over TLS alone", ""),
            (tls("http2 = { offer = \"off\", streams = 7 }"), &h2, "speaks no HTTP/2", ""),
            (tls("http3.alt-svc = \"1h\""), &h3, "speaks no HTTP/3", ""),
            (pool("http2.ping = \"1m\""), "pool.web.http2.ping", "`mode = \"prefer\"`", ""),
            (service("buffer.memory = \"1MiB\""), &memory, "keeps a body", ""),
            (
                service("buffer = { request = \"65MiB\" }"),
                &at("buffer.request"),
                "`memory` of all bodies together is 64MiB",
                "",
            ),
            (
                service("buffer = { response = \"2MiB\", memory = \"1MiB\" }"),
                &at("buffer.response"),
                "at most 1MiB",
                "",
            ),
            (
                format!("global.access-log = {{ target = \"off\", all = true }}\n{BASE}"),
                "global.access-log.all",
                "has no effect",
                "",
            ),
            (
                service("limit = { connections = 5, connections-per-client = 6 }"),
                "service.shop.limit.connections-per-client",
                "all clients together have 5",
                "",
            ),
            (
                pool("hedge = \"9s\"\ntimeout.first-byte = \"9s\""),
                "pool.web.hedge.after",
                "first-byte`, 9s",
                "",
            ),
            (pool("retry.on = [\"200-299\", 503]"), "pool.web.retry.on", "status 200 are good", ""),
            (retries("on-timeout = true"), "pool.web.retry.on-timeout", "`retries = 0`", ""),
            (retries("on-malformed = true"), "pool.web.retry.on-malformed", "`retries = 0`", ""),
            (retries("budget = 7"), "pool.web.retry.budget", "`retries = 0`", ""),
            (retries("back-off = \"7ms\""), "pool.web.retry.back-off", "`retries = 0`", ""),
            (retries("on = 503"), "pool.web.retry.on", "`retries = 0`", ""),
        ],
    );
    for fits in [
        tls("http2.streams = 7"),
        service("http2 = { offer = \"always\", streams = 7 }"),
        service("http2.streams = 100"),
        tls("http3 = { offer = \"on\", alt-svc = \"1h\" }"),
        pool("http2 = { mode = \"prefer\", ping = \"1m\" }"),
    ] {
        assert_eq!(good(&fits).warnings, [], "{fits}");
    }
    // An explanation's output causes no new findings.
    let explained = model::config::explain(&good(&pool("retries = 0")));
    assert_eq!(good(&explained).warnings, [], "{explained}");
}

#[test]
fn a_field_in_another_form_is_reported_with_the_right_one() {
    let at = |key: &str| format!("service.shop.rule[0].{key}");
    let (rewrite, set) = (at("rewrite"), at("rewrite.set"));
    check_rows(
        Severity::Error,
        &[
            (rule("rewrite = \"host: x\""), &rewrite, "such as `path`", "{ host = \"x\" }"),
            (rule("rewrite = \"x-a: b\""), &rewrite, "a table", "{ set = \"x-a: b\" }"),
            (rule("rewrite = { set = \"host: x\" }"), &set, "`host = \"x\"` beside it", ""),
            (rule("rewrite = { set = \"Connection: x\" }"), &set, "written by us", ""),
            (rule("rewrite = { set = \"x-a=b\" }"), &set, "name, `:` and", "\"x-a: b\""),
            (rule("rewrite = { set = \"x a: b\" }"), &set, "`x a` is not the name", ""),
            (rule("rewrite = { set = { x-a = \"b\" } }"), &set, "one text", "\"x-a: b\""),
            (
                rule("rewrite = { set = { x-a = \"b\", x-c = \"d\" } }"),
                &set,
                "one text",
                "[\"x-a: b\", \"x-c: d\"]",
            ),
        ],
    );
}
