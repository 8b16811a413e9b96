//! Conversion of what Envoy decides about access, targets and identity, one row each: nothing that was closed opens.

#[path = "envoy_seen.rs"]
mod envoy_seen;

use convert::dialect::Dialect;
use convert::run::convert;

use super::envoy::{
    EnvoyCase, NOTHING, Places, check, cluster, converted, file, filters, manager, route,
};

const fn chain(chain: &'static str) -> Places {
    Places { chain, ..NOTHING }
}

const MATCHES: &[EnvoyCase] = &[
    // Letter case of an expression is its own affair.
    (
        route(
            "{ match: { safe_regex: { regex: '/a.*' }, case_sensitive: false }, route: { cluster: c } },",
        ),
        "when = { path-regex = \"/a.*\" } pool = \"c\"",
        false,
    ),
    (
        route(
            "{ match: { prefix: /, headers: [{ name: x-a, string_match: { safe_regex: { regex: 'a+' }, ignore_case: true } }] }, route: { cluster: c } },",
        ),
        "header-regex = \"x-a: a+\"",
        false,
    ),
    // Host is the authority.
    (
        route(
            "{ match: { prefix: /, headers: [{ name: Host, string_match: { exact: a.example } }] }, route: { cluster: c } },",
        ),
        "when = { host = \"a.example\" } pool = \"c\"",
        false,
    ),
    (
        route(
            "{ match: { prefix: /, headers: [{ name: ':path', string_match: { prefix: /admin } }] }, direct_response: { status: 403 } },",
        ),
        "when = { path = \"/admin*\" } answer = { status = 403",
        false,
    ),
    (
        route(
            "{ match: { prefix: /a, query_parameters: [{ name: q, present_match: false }] }, route: { cluster: c } },",
        ),
        "when = { path = \"/a*\" } deny = true",
        true,
    ),
];

const TARGETS: &[EnvoyCase] = &[
    // Only the first alternative begins where the path begins.
    (
        route(
            "{ match: { prefix: /a }, route: { cluster: c, regex_rewrite: { pattern: { regex: '^/a|/b' }, substitution: /c } } },",
        ),
        "when = { path = \"/a*\" } answer = 502",
        true,
    ),
    (
        route(
            "{ match: { prefix: /a }, redirect: { regex_rewrite: { pattern: { regex: '^/a/(.*)$' }, substitution: '/b/\\1' } } },",
        ),
        "path-regex = \"/a/(.*)\", path = \"/a*\" } redirect = { to = \"http://{host}/b/{1}{query}\"",
        false,
    ),
    // A redirect to the path that was asked for would never end.
    (
        route(
            "{ match: { prefix: /a }, redirect: { regex_rewrite: { pattern: { regex: 'x' }, substitution: '/b' } } },",
        ),
        "when = { path = \"/a*\" } answer = 502",
        true,
    ),
    (
        route("{ match: { path_separated_prefix: /a }, redirect: { prefix_rewrite: /b } },"),
        "when = { path-regex = \"/a((?:/.*)?)\" } redirect = { to = \"http://{host}/b{1}{query}\"",
        false,
    ),
    (
        route(
            "{ match: { prefix: /a, case_sensitive: false }, redirect: { prefix_rewrite: /b } },",
        ),
        "when = { path-regex = \"(?i)/a(.*)\" } redirect = { to = \"http://{host}/b{1}{query}\"",
        false,
    ),
    (
        route("{ match: { prefix: /a }, redirect: { port_redirect: 8443 } },"),
        "to = \"http://{host-name}:8443{path}{query}\"",
        false,
    ),
    (
        route(
            "{ match: { safe_regex: { regex: '/a.*' } }, route: { cluster: c, prefix_rewrite: /b } },",
        ),
        "when = { path-regex = \"/a.*\" } pool = \"c\" rewrite = { path = \"/b\"",
        false,
    ),
    // Fields of answers go with redirects, and variables are none in fixed answers.
    (
        route(
            "{ match: { prefix: /a }, redirect: { path_redirect: /b }, response_headers_to_add: [{ header: { key: X-A, value: b } }] },",
        ),
        "headers = [\"server: envoy\", \"x-a: b\"]",
        false,
    ),
    (
        route(
            "{ match: { path: /a }, direct_response: { status: 200 }, response_headers_to_add: [{ header: { key: X-A, value: '%REQ(x-b)%' } }] },",
        ),
        "rewrite = { response-add = [{ field = \"x-a: {header.x-b}\", own = true }] }",
        false,
    ),
];

const EDITS: &[EnvoyCase] = &[
    // What the connection manager writes, a route may write otherwise.
    (
        Places {
            manager: "use_remote_address: true",
            routes: "{ match: { prefix: /a }, route: { cluster: c }, request_headers_to_add: [{ header: { key: X-Forwarded-Proto, value: https }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }] },",
            ..NOTHING
        },
        "set = \"x-forwarded-proto: https\"",
        false,
    ),
    // A virtual host comes after its routes, and removes what they add.
    (
        Places {
            host: "domains: ['*']\n              request_headers_to_remove: [x-user]",
            routes: "{ match: { prefix: /a }, route: { cluster: c }, request_headers_to_add: [{ header: { key: X-User, value: a } }] },",
            ..NOTHING
        },
        "pool = \"c\" rewrite = { remove = \"x-user\"",
        false,
    ),
    (
        Places {
            filters: "{ name: f, typed_config: { '@type': x.HeaderMutation, mutations: { request_mutations: [{ append: { header: { key: x-a, value: filter }, append_action: OVERWRITE_IF_EXISTS_OR_ADD } }] } } },",
            routes: "{ match: { prefix: /a }, route: { cluster: c }, request_headers_to_add: [{ header: { key: x-a, value: route }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }] },",
            ..NOTHING
        },
        "pool = \"c\" rewrite = { set = \"x-a: route\"",
        false,
    ),
    (
        Places {
            filters: "{ name: f, typed_config: { '@type': x.HeaderMutation } },",
            routes: "{ match: { prefix: /a }, route: { cluster: c }, typed_per_filter_config: { f: { '@type': x.HeaderMutationPerRoute, mutations: { request_mutations: [{ remove: x-user }] } } } },",
            ..NOTHING
        },
        "\"x-user\"",
        false,
    ),
    // The host decides where servers think they are.
    (
        filters(
            "{ name: f, typed_config: { '@type': x.HeaderMutation, mutations: { request_mutations: [{ append: { header: { key: ':path', value: /b }, append_action: OVERWRITE_IF_EXISTS_OR_ADD } }] } } },",
        ),
        "answer = 502",
        true,
    ),
    (
        manager(
            "early_header_mutation_extensions: [{ name: e, typed_config: { '@type': x.HeaderMutation, mutations: [{ remove: x-user }] } }]",
        ),
        "\"x-user\"",
        false,
    ),
    (
        manager(
            "early_header_mutation_extensions: [{ name: e, typed_config: { '@type': x.Other } }]",
        ),
        "answer = 502",
        true,
    ),
    (
        Places {
            host: "domains: ['*']\n              include_request_attempt_count: true",
            ..NOTHING
        },
        "remove = [\"x-envoy-attempt-count\"",
        true,
    ),
    (
        filters(
            "{ name: f, typed_config: { '@type': x.IPTagging, ip_tag_header: { header: X-Tag } } },",
        ),
        "remove = [\"x-envoy-ip-tags\", \"x-tag\"]",
        true,
    ),
    // What single pools of a split remove, nobody gets.
    (
        route(
            "{ match: { prefix: /a }, route: { weighted_clusters: { clusters: [{ name: b, weight: 1, request_headers_to_remove: [X-User] }, { name: c, weight: 1 }] } } },",
        ),
        "\"x-user\"",
        true,
    ),
];

const ACCESS: &[EnvoyCase] = &[
    // What the filter is stands with the control plane, whatever its name.
    (
        filters("{ name: cors, config_discovery: { type_urls: [x.ExtAuthz] } },"),
        "[[service.l.rule]] deny = true",
        true,
    ),
    (
        filters(
            "{ name: f, typed_config: { '@type': x.HTTPFault, abort: { http_status: 503, percentage: { numerator: 100 } } } },",
        ),
        "answer = 503",
        true,
    ),
    (
        filters(
            "{ name: f, typed_config: { '@type': x.HTTPFault, abort: { http_status: 503, percentage: { numerator: 5 } } } },",
        ),
        "pool = \"b\"",
        true,
    ),
    // Who connects is not seen behind a PROXY header.
    (
        Places {
            listener: "listener_filters: [{ name: x.proxy_protocol }]",
            filters: "{ name: rbac, typed_config: { '@type': x.RBAC, rules: { action: ALLOW, policies: { p: { permissions: [{ any: true }], principals: [{ direct_remote_ip: { address_prefix: 10.0.0.0, prefix_len: 8 } }] } } } } },",
            ..NOTHING
        },
        "[[service.l.rule]] deny = true",
        true,
    ),
    // Behind a proxy with TLS a request is secure.
    (
        Places { host: "domains: ['*']\n              require_tls: ALL", ..NOTHING },
        "when = { not = { header = \"x-forwarded-proto: https\" } } redirect",
        false,
    ),
    (
        Places {
            manager: "use_remote_address: true",
            host: "domains: ['*']\n              require_tls: ALL",
            ..NOTHING
        },
        "[[service.l.rule]] redirect = { to = \"https://{host}{path}{query}\"",
        false,
    ),
    // A route may switch upgrades off, or on.
    (
        Places {
            manager: "upgrade_configs: [{ upgrade_type: websocket }]",
            routes: "{ match: { prefix: /a }, route: { cluster: c, upgrade_configs: [{ upgrade_type: websocket, enabled: false }] } },",
            ..NOTHING
        },
        "when = { path = \"/a*\", all = [{ header = \"upgrade: websocket\", value-case = \"ignore\" }] } deny = true",
        false,
    ),
    (
        Places {
            routes: "{ match: { prefix: /a }, route: { cluster: c, upgrade_configs: [{ upgrade_type: websocket }] } },",
            ..NOTHING
        },
        "[[service.l.rule]] when = { path = \"/a*\" } pool = \"c\"",
        false,
    ),
    (
        chain(
            "filter_chain_match: { source_prefix_ranges: [{ address_prefix: 10.1.2.3, prefix_len: 8 }], direct_source_prefix_ranges: [{ address_prefix: 10.2.0.0, prefix_len: 16 }] }",
        ),
        "when = { client = \"10.0.0.0/8\", all = [{ client = \"10.2.0.0/16\" }",
        false,
    ),
];

const CLUSTERS: &[EnvoyCase] = &[
    (
        cluster(
            "type: STATIC\n    transport_socket: { name: tls, typed_config: { '@type': x.UpstreamTlsContext, sni: a.example, common_tls_context: { validation_context: { system_root_certs: {} } } } }",
        ),
        "[pool.b.tls] ca = \"system\" name = \"a.example\"",
        false,
    ),
    (
        cluster(
            "type: STATIC\n    lb_subset_config: { fallback_policy: NO_FALLBACK, subset_selectors: [{ keys: [v] }] }",
        ),
        "answer = 503",
        true,
    ),
    (
        Places {
            cluster: "type: STATIC\n    lb_subset_config: { fallback_policy: ANY_ENDPOINT, subset_selectors: [{ keys: [v] }] }",
            routes: "{ match: { prefix: /a }, route: { cluster: b, metadata_match: { filter_metadata: { envoy.lb: { v: '1' } } } } },",
            ..NOTHING
        },
        "when = { path = \"/a*\" } answer = 503",
        true,
    ),
    (
        cluster(
            "type: STRICT_DNS\n    health_checks: [{ timeout: 1s, interval: 3s, http_health_check: { path: /up, request_headers_to_add: [{ header: { key: X-Up, value: y } }] } }]\n    load_assignment: { endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: a.example, port_value: 80 } }, health_check_config: { port_value: 81 } } }] }] }",
        ),
        "probe = { http = \"/up\", host = \"b\", headers = \"x-up: y\", status = [200], interval = \"3s\", timeout = \"1s\", port = 81 }",
        false,
    ),
    (
        cluster(
            "type: STATIC\n    health_checks: [{ timeout: 1s, interval: 3s, alt_port: 82, tcp_health_check: {} }]",
        ),
        "port = 82 }",
        false,
    ),
    (
        cluster(
            "type: STRICT_DNS\n    load_assignment: { endpoints: [{ lb_endpoints: [{ health_status: 3, endpoint: { address: { socket_address: { address: a.example, port_value: 80 } } } }] }] }",
        ),
        "state = \"drain\"",
        false,
    ),
    (
        route(
            "{ match: { prefix: /a }, route: { cluster: c, retry_policy: { retry_on: unavailable } } },",
        ),
        "retries = 0",
        true,
    ),
];

#[test]
fn matches_are_no_wider_and_no_narrower() {
    check(MATCHES);
}

#[test]
fn targets_are_those_of_the_original_or_refused() {
    check(TARGETS);
}

#[test]
fn later_edits_of_fields_win() {
    check(EDITS);
}

#[test]
fn access_stays_closed() {
    check(ACCESS);
}

#[test]
fn servers_are_those_that_were_meant() {
    check(CLUSTERS);
}

#[test]
fn a_file_that_envoy_refuses_or_that_is_unfinished_is_not_written() {
    for (from, to) in [
        ("127.0.0.1", "${ADDRESS}"),
        ("prefix: /", "prefix: /, case_sensitive: maybe"),
        ("name: l\n", "name: l\n    bind_to_port: 5\n"),
    ] {
        let text = file(&NOTHING).replace(from, to);
        let result = convert(&text, "x", Dialect::Envoy);
        assert!(result.text.is_none() && result.left_out > 0, "{text}{:?}", result.notes);
    }
    // YAML has further words for truth values.
    let text = converted(&manager("use_remote_address: Yes")).text.unwrap();
    assert!(text.contains("x-forwarded-proto: {scheme}"), "{text}");
}
