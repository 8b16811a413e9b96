//! Conversion of what Traefik writes before it asks routers, and of what middlewares make of it, one row each.

use crate::traefik::{check, http_file};

#[test]
fn routers_see_the_fields_that_traefik_writes() {
    let text = "entryPoints:\n  web: { address: ':8080' }\nhttp:\n  routers:\n    one: { rule: 'Header(`X-Real-Ip`, `10.0.0.1`)', service: s }\n  services:\n    s: { loadBalancer: { servers: [{ url: 'http://10.0.0.1' }] } }\n";
    let edits = "[[service.web.edit]]\nrewrite = { set = [\"X-Forwarded-Host: {host}\", \"X-Forwarded-Port: 80\", \"X-Real-Ip: {client}\"], remove = \"X-Forwarded-Server\" }";
    let port = "[[service.web.edit]]\nwhen = { header = \"host: *:8080\" }\nrewrite = { set = \"X-Forwarded-Port: 8080\" }";
    check(text, &[edits, port], false);
    let trusting =
        text.replace("':8080'", "':8080', forwardedHeaders: { trustedIPs: [10.0.0.0/8] }");
    let host = "when = { not = { header = \"x-forwarded-host\" } }\nrewrite = { set = \"X-Forwarded-Host: {host}\" }";
    check(&trusting, &[host], false);
}

#[test]
fn rules_compare_what_traefik_compares() {
    for (rule, written, left) in [
        // Paths are decoded before they are compared.
        ("PathRegexp(`^/a b`)", "path-regex = \"/a%20b.*\"", false),
        ("PathPrefix(`/a%20b`)", "deny = true", true),
        ("Header(`Host`, `a.example`)", "name = \"all\"", false),
        ("Query(`q`, ``)", "deny = true", true),
    ] {
        check(&http_file(rule, "{ compress: {} }"), &[written], left);
    }
}

#[test]
fn middlewares_do_no_more_and_no_less() {
    for (middleware, written, left) in [
        (
            "{ stripPrefixRegex: { regex: ['/a/[0-9]+/'] } }",
            "path-regex = \"/a/[0-9]+/(.*)\"",
            false,
        ),
        ("{ stripPrefixRegex: { regex: ['/a'] } }", "path-regex = \"/a/?(.*)\"", false),
        (
            "{ headers: { customRequestHeaders: { X-Forwarded-For: 1.2.3.4 } } }",
            "set = \"X-Forwarded-For: 1.2.3.4, {client}\"",
            false,
        ),
        // The Host counts with its port.
        (
            "{ headers: { allowedHosts: [b.example], hostsProxyHeaders: [X-H] } }",
            "when = { header = \"x-h\", not = { header = \"x-h: b.example\", value-case = \"ignore\" }",
            false,
        ),
        // Of which hosts `www.` is to be taken off, the rule does not say.
        (
            "{ redirectRegex: { regex: '^https?://www\\.(.*)', replacement: 'https://$1' } }",
            "answer = 503",
            true,
        ),
        (
            "{ redirectScheme: { scheme: http, port: '8080' } }",
            "not = { header = \"host: *:8080\" }",
            false,
        ),
        ("{ redirectScheme: { scheme: http } }", "header-regex = \"host: .*:[0-9]+\"", false),
    ] {
        check(&http_file("PathPrefix(`/`)", middleware), &[written], left);
    }
    let text = http_file(
        "PathPrefix(`/`)",
        "{ stripPrefix: { prefixes: [/a] }, headers: { customRequestHeaders: { X-Forwarded-Prefix: /own } } }",
    );
    check(&text, &["set = \"X-Forwarded-Prefix: /own\""], false);
}

#[test]
fn clients_of_all_names_are_asked_where_a_rule_takes_more_than_its_hosts() {
    let text = "entryPoints:\n  web: { address: ':443' }\ntls:\n  certificates: [{ certFile: /s.pem, keyFile: /s.key }]\n  options:\n    m: { clientAuth: { caFiles: [/ca.pem], clientAuthType: RequireAndVerifyClientCert } }\nhttp:\n  routers:\n    one: { rule: 'Host(`a.example`) || PathPrefix(`/x`)', service: s, tls: { options: m } }\n    two: { rule: 'Host(`b.example`)', service: s, tls: {} }\n  services:\n    s: { loadBalancer: { servers: [{ url: 'http://10.0.0.1' }] } }\n";
    check(text, &["client = { ca = \"/ca.pem\", verify = \"required\" }"], true);
    let bound = text.replace("||", "&&");
    check(&bound, &["verify = \"required\", names = \"a.example\" }"], false);
}
