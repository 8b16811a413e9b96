//! Rules of HAProxy that change what later ones see, old words, checks that talk, and listeners behind proxies.

use convert::dialect::Dialect;
use convert::run::convert;

use super::{ConversionCase, rows};

#[path = "haproxy_judged.rs"]
mod haproxy_judged;

/// What is changed in a way that cannot be written refuses the requests that it takes.
const CHANGES: &[ConversionCase] = &[
    // No server is asked for another host than HAProxy asks it for.
    ("http-request set-header Host %[path]", "[[service.f.rule]] answer = 502", true),
    (
        "http-request set-header Host a.example if { path /a } { src -f /x }",
        "when = { path = \"/a\" } answer = 502",
        true,
    ),
    (
        "http-request del-header Host if { method POST }",
        "when = { method = \"POST\" } answer = 502",
        true,
    ),
    ("http-request set-header Host %[hdr(x-a)]", "host = \"{header.x-a}\"", true),
    ("http-request set-path /x%[path]", "pool = \"b\" rewrite = { path = \"/x{path}\" }", false),
    (
        "http-request set-path /x%[path] if { method GET }",
        "when = { method = \"GET\" } pool = \"b\" rewrite = { path = \"/x{path}\" }",
        false,
    ),
    (
        "http-request replace-path ^/a/(.*) /\\1",
        "when = { path-regex = \"/a/(.*).*\" } pool = \"b\" rewrite = { path = \"/{1}\" }",
        false,
    ),
    (
        "http-request set-path %[path,regsub(^/v1/,/)] if { path_beg /v1 }\n http-request set-header X-A b",
        "when = { path-regex = \"/v1/(.*)\", path = \"/v1*\" } pool = \"b\" rewrite = { path = \"/{1}\", set = \"X-A: b\" }",
        false,
    ),
    // A rule behind it looks at the new path.
    ("http-request set-path /x%[path]\n use_backend c if { path_beg /x }", "answer = 502", true),
    (
        "http-request set-path /x%[path]\n http-request deny if { path_beg /x }",
        "answer = 502",
        true,
    ),
    (
        "http-request set-path /x%[path]\n http-request set-header X-A b if { path_beg /x }",
        "answer = 502",
        true,
    ),
    (
        "http-request set-path /x%[path]\n redirect scheme https if { method GET }",
        "answer = 502",
        true,
    ),
    ("http-request set-path /x\n http-request set-path /y", "answer = 502", true),
    ("http-request set-path /x?y", "answer = 502", true),
    (
        "http-request set-query %[query]&a=1 if { path /a }",
        "when = { path = \"/a\" } answer = 502",
        true,
    ),
    ("http-request set-path /x if { src -f /x }", "answer = 502", true),
    (
        "http-request deny if { path_beg /x }\n http-request set-path /x%[path]",
        "rewrite = { path = \"/x{path}\" }",
        false,
    ),
    ("http-request replace-uri (.*) /x\\1 if { path -f /x }", "answer = 502", true),
    (
        "http-request set-method GET if { method HEAD }",
        "when = { method = \"HEAD\" } answer = 502",
        true,
    ),
    (
        "http-request use-service lua.x if { path /a }",
        "when = { path = \"/a\" } answer = 502",
        true,
    ),
    ("http-request lua.check if { path /a }", "when = { path = \"/a\" } answer = 403", true),
    (
        "http-request deny deny_status 413 if { req.body_size gt 5000 }",
        "pool = \"b\" body-bytes = \"5000B\"",
        false,
    ),
    (
        "acl long req.body_size -m int ge 5000\n http-request deny if long\n use_backend c if { path /c }",
        "when = { path = \"/c\" } pool = \"c\" body-bytes = \"4999B\"",
        false,
    ),
    (
        "http-request deny if { req.body_size gt 5000 } { path /a }",
        "when = { path = \"/a\" } deny = true",
        true,
    ),
    // Nobody knows whose address that is.
    (
        "http-request set-src hdr(x-real-ip)\n http-request deny if { src 10.0.0.0/8 }",
        "deny = true",
        true,
    ),
    (
        "http-request set-src hdr(x-real-ip)\n http-request deny unless { path /a } { src 10.0.0.0/8 }",
        "deny = true",
        true,
    ),
    // Rules about connections come before it.
    (
        "http-request set-src hdr(x-real-ip)\n tcp-request connection reject if { src 10.0.0.0/8 }",
        "when = { client = \"10.0.0.0/8\" } deny = true",
        true,
    ),
    ("http-request deny if { url_beg /a }", "when = { path = \"/a*\" } deny = true", false),
    ("http-request deny if { url_beg /a?b }", "deny = true", true),
    ("use_backend c if { url /a }", "pool = \"b\"", true),
    (
        "http-request deny if { hdr_cnt(x) eq 0 }",
        "when = { not = { header = \"x\" } } deny = true",
        false,
    ),
    (
        "http-request deny if { req.hdr_cnt(x) gt 0 }",
        "when = { header = \"x\" } deny = true",
        false,
    ),
    (
        "use_backend c if { path /a } !{ hdr_cnt(host) gt 1 }",
        "when = { path = \"/a\" } pool = \"c\"",
        false,
    ),
    ("http-request deny if { hdr_cnt(x) gt 1 }", "deny = true", true),
    // Words before HAProxy 2.1.
    ("reqideny ^GET\\ /admin", "deny = true", true),
    ("reqtarpit ^GET\\ /admin if { src 10.0.0.1 }", "deny = true", true),
    ("reqadd X-A:\\ 1", "add = \"X-A: 1\"", false),
    ("reqidel ^X-A:.*", "remove = \"X-A\"", false),
    ("rspidel ^Server:", "response-remove = \"Server\"", false),
    ("reqidel ^X-.*", "pool = \"b\"", true),
    ("clitimeout 7000", "header = \"7s\"", false),
];

#[test]
fn changes_that_cannot_be_written_refuse_their_requests() {
    rows(Dialect::Haproxy, CHANGES);
}

/// Converts a whole file, and returns it in one line.
fn converted(text: &str) -> String {
    let converted = convert(text, "x", Dialect::Haproxy);
    let text = converted.text.unwrap_or_else(|| panic!("{text}: {:?}", converted.notes));
    model::config::load(&text, "x").unwrap_or_else(|findings| panic!("{text}: {findings}"));
    text.lines().map(|line| line.split(" #").next().unwrap_or("")).collect::<Vec<_>>().join(" ")
}

#[test]
fn listeners_and_servers_of_old_files_are_carried_over() {
    let text = converted(
        "listen a 10.0.0.1:80,10.0.0.1:81\n mode http\n dispatch 10.0.0.2:8080\n reqideny x\n",
    );
    for written in
        ["\"10.0.0.1:80\",", "\"10.0.0.1:81\",", "address = \"10.0.0.2:8080\"", "deny = true"]
    {
        assert!(text.contains(written), "{written}: {text}");
    }
}

#[test]
fn connections_behind_proxies_are_judged_by_who_connects() {
    let file = |bind: &str, rules: &str| {
        let text = "listen a\n mode http\n BIND\n server s 10.0.0.2:80\n RULES\n";
        converted(&text.replace("BIND", bind).replace("RULES", rules))
    };
    let proxies = "bind 10.0.0.1:80 accept-proxy";
    let refuses = "tcp-request connection reject if !{ src 10.9.0.0/16 }";
    let exact = file(proxies, refuses);
    assert!(exact.contains("accept-proxy = { from = [\"10.9.0.0/16\"] }"), "{exact}");
    assert!(!exact.contains("deny"), "{exact}");
    // Whom the header names is nobody that these rules are about.
    for rules in [
        "tcp-request connection reject if { src 10.9.0.0/16 }",
        &format!("tcp-request connection accept if {{ src 10.9.0.1 }}\n {refuses}"),
    ] {
        let text = file(proxies, rules);
        assert!(text.contains("deny = true") && !text.contains("when"), "{rules}: {text}");
    }
    let mixed = file("bind 10.0.0.1:80 accept-proxy\n bind 10.0.0.1:81", refuses);
    assert!(mixed.contains("deny = true"), "{mixed}");
    let plain = file("bind 10.0.0.1:80", refuses);
    assert!(plain.contains("not = { client = \"10.9.0.0/16\" }"), "{plain}");
}

#[test]
fn a_backend_without_servers_answers_as_its_rules_say() {
    let text = converted(
        "frontend a\n mode http\n bind 10.0.0.1:80\n default_backend none\nbackend none\n mode http\n \
         http-request deny deny_status 404 if { path /a }\n",
    );
    let own = text.find("answer = 404").unwrap_or_else(|| panic!("{text}"));
    assert!(text.find("answer = 503").is_some_and(|rest| own < rest), "{text}");
}

#[test]
fn checks_that_begin_to_talk_send_all_at_once() {
    let file = |checks: &str| {
        converted(&format!(
            "listen a\n mode tcp\n bind 10.0.0.1:80\n option tcp-check\n {checks}\n server s 10.0.0.2:80 check\n"
        ))
    };
    let redis = file(
        "tcp-check send PING\\r\\n\n tcp-check expect string +PONG\n tcp-check send info\\ replication\\r\\n\n tcp-check expect string role:master",
    );
    assert!(redis.contains("send = \"PING\\r\\ninfo replication\\r\\n\""), "{redis}");
    assert!(redis.contains("expect = \"(?s)\\\\+PONG.*role:master\""), "{redis}");
    let greeting = file(
        "tcp-check expect string 220\n tcp-check send QUIT\\r\\n\n tcp-check expect string 221",
    );
    assert!(greeting.contains("expect = \"220\"") && !greeting.contains("send"), "{greeting}");
}

#[test]
fn quic_is_http3_beside_tls_alone() {
    let file = |binds: &str| {
        format!("listen a\n mode http\n {binds}\n server s 10.0.0.2:80\n timeout client 1s\n")
    };
    let tcp = "bind 10.0.0.1:443 ssl crt /x.pem alpn h2";
    let quic = "bind quic4@10.0.0.1:443 ssl crt /x.pem alpn h3";
    let both = converted(&file(&format!("{tcp}\n {quic}")));
    assert!(both.contains("http3 = \"on\"") && both.contains("http2 = \"tls\""), "{both}");
    assert_eq!(both.matches("10.0.0.1:443").count(), 1, "{both}");
    let alone = convert(&file(quic), "x", Dialect::Haproxy);
    assert!(!alone.text.unwrap_or_default().contains("443"), "{:?}", alone.notes);
}

#[test]
fn words_of_a_path_end_where_haproxy_ends_them() {
    for (criterion, expression) in [
        ("path_dir admin", "(?:.*/)?admin(?:/.*)?"),
        ("path_dir /admin/", "(?:.*/)?admin(?:/.*)?"),
        ("path_dom admin", "(?:.*[/.:])?admin(?:[/.:].*)?"),
        ("path_dom .admin.", "(?:.*[/.:])?admin(?:[/.:].*)?"),
        ("path -m dom admin", "(?:.*[/.:])?admin(?:[/.:].*)?"),
    ] {
        let text = converted(&format!(
            "listen a\n mode http\n bind 10.0.0.1:80\n http-request deny if {{ {criterion} }}\n server s 10.0.0.2:80\n"
        ));
        let rule = format!("when = {{ path-regex = \"{expression}\" }} deny = true");
        assert!(text.contains(&rule), "{criterion}: {text}");
    }
    // The query counts, too, which no rule looks at.
    let text = converted(
        "listen a\n mode http\n bind 10.0.0.1:80\n http-request deny if { url_dir admin }\n server s 10.0.0.2:80\n",
    );
    assert!(text.contains("[[service.a.rule]] deny = true"), "{text}");
}
