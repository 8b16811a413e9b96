//! Conversion of Envoy's routes and of the fields that servers believe, one row each.

use super::envoy::{EnvoyCase, NOTHING, Places, check, converted, manager, route};

const MATCHES: &[EnvoyCase] = &[
    (
        route("{ match: { path: /a }, route: { cluster: c } },"),
        "when = { path = \"/a\" } pool = \"c\"",
        false,
    ),
    (
        route("{ match: { prefix: /a }, route: { cluster: c } },"),
        "when = { path = \"/a*\" }",
        false,
    ),
    (
        route("{ match: { prefix: /a, case_sensitive: false }, route: { cluster: c } },"),
        "path-regex = \"(?i)/a.*\"",
        false,
    ),
    (
        route("{ match: { path_separated_prefix: /a }, route: { cluster: c } },"),
        "path = [\"/a\", \"/a/*\"]",
        false,
    ),
    (
        route("{ match: { prefix: '/a*b' }, route: { cluster: c } },"),
        "path-regex = \"/a\\\\*b.*\"",
        false,
    ),
    (
        route(
            "{ match: { prefix: /, headers: [{ name: ':method', string_match: { safe_regex: { regex: 'GET|HEAD' } } }] }, route: { cluster: c } },",
        ),
        "method = [\"GET\", \"HEAD\"]",
        false,
    ),
    (
        route(
            "{ match: { prefix: /, headers: [{ name: x-a, string_match: { exact: v }, invert_match: true }] }, route: { cluster: c } },",
        ),
        "when = { header = \"x-a\", not = { header = \"x-a: v\" } }",
        false,
    ),
    (
        route(
            "{ match: { prefix: /, headers: [{ name: x-a, present_match: true, invert_match: true }] }, route: { cluster: c } },",
        ),
        "when = { not = { header = \"x-a\" } }",
        false,
    ),
    (
        route(
            "{ match: { prefix: /, query_parameters: [{ name: q, string_match: { prefix: a, ignore_case: true } }] }, route: { cluster: c } },",
        ),
        "query = \"q=a*\", value-case = \"ignore\"",
        false,
    ),
    // What cannot be compared is refused, and does not fall to the next route.
    (
        route(
            "{ match: { prefix: /a, headers: [{ name: x-a, range_match: { start: 1, end: 5 } }] }, route: { cluster: c } },",
        ),
        "when = { path = \"/a*\" } deny = true",
        true,
    ),
    (
        route(
            "{ match: { prefix: /a, dynamic_metadata: [{ filter: x }] }, route: { cluster: c } },",
        ),
        "when = { path = \"/a*\" } deny = true",
        true,
    ),
    (route("{ match: { connect_matcher: {} }, route: { cluster: c } },"), "deny = true", true),
    // A share of requests goes on to the next routes, but a share that is refused is refused whole.
    (
        route(
            "{ match: { prefix: /a, runtime_fraction: { default_value: { numerator: 5 } } }, direct_response: { status: 403 } },",
        ),
        "when = { path = \"/a*\" } answer = { status = 403",
        false,
    ),
];

const ACTIONS: &[EnvoyCase] = &[
    (
        route("{ match: { prefix: /a/ }, route: { cluster: c, prefix_rewrite: / } },"),
        "rewrite = { path = \"/{rest}\"",
        false,
    ),
    (
        route("{ match: { prefix: /a }, route: { cluster: c, prefix_rewrite: / } },"),
        "rewrite = { strip = \"/a\"",
        false,
    ),
    (
        route("{ match: { path: /a }, route: { cluster: c, prefix_rewrite: /b } },"),
        "rewrite = { path = \"/b\"",
        false,
    ),
    (
        route(
            "{ match: { path_separated_prefix: /a }, route: { cluster: c, prefix_rewrite: / } },",
        ),
        "path-regex = \"/a(?:/(.*))?\" } pool = \"c\" rewrite = { path = \"/{1}\"",
        false,
    ),
    (
        route(
            "{ match: { prefix: /a }, route: { cluster: c, regex_rewrite: { pattern: { regex: '^/a/(.+)$' }, substitution: '/\\1' } } },",
        ),
        "path-regex = \"/a/(.+)\", path = \"/a*\" } pool = \"c\" rewrite = { path = \"/{1}\"",
        false,
    ),
    // Servers trust the path that they get.
    (
        route(
            "{ match: { prefix: /a }, route: { cluster: c, regex_rewrite: { pattern: { regex: 'a' }, substitution: 'b' } } },",
        ),
        "when = { path = \"/a*\" } answer = 502",
        true,
    ),
    (
        route("{ match: { prefix: /a }, route: { cluster: c, host_rewrite_literal: h.example } },"),
        "host = \"h.example\"",
        false,
    ),
    (
        route("{ match: { prefix: /a }, route: { cluster: c, host_rewrite_header: x-host } },"),
        "host = \"{header.x-host}\"",
        false,
    ),
    (
        route("{ match: { prefix: /a }, route: { cluster: c, auto_host_rewrite: true } },"),
        "answer = 502",
        true,
    ),
    (
        route("{ match: { prefix: /a }, route: { cluster: nobody } },"),
        "when = { path = \"/a*\" } answer = 503",
        true,
    ),
    (
        route("{ match: { prefix: /a }, route: { cluster_header: x-to } },"),
        "when = { path = \"/a*\" } answer = 503",
        true,
    ),
    (
        route("{ match: { prefix: /a }, non_forwarding_action: {} },"),
        "when = { path = \"/a*\" } answer = 503",
        true,
    ),
    (
        route(
            "{ match: { prefix: /a }, redirect: { https_redirect: true, host_redirect: h.example, port_redirect: 8443, response_code: FOUND } },",
        ),
        "to = \"https://h.example:8443{path}{query}\", status = 302",
        false,
    ),
    (
        route("{ match: { prefix: /a }, redirect: { path_redirect: /b, strip_query: true } },"),
        "to = \"http://{host}/b\", status = 301",
        false,
    ),
    (
        route(
            "{ match: { path: /a }, direct_response: { status: 204, body: { inline_string: x } } },",
        ),
        "answer = { status = 204, headers",
        false,
    ),
    // A status that is none refuses.
    (
        route("{ match: { path: /a }, direct_response: { status: 700 } },"),
        "when = { path = \"/a\" } deny = true",
        true,
    ),
    (
        route(
            "{ match: { prefix: /a }, route: { weighted_clusters: { clusters: [{ name: b, weight: 3 }, { name: c, weight: 1 }] } } },",
        ),
        "split = [{ pool = \"b\", weight = 3 }, { pool = \"c\", weight = 1 }]",
        false,
    ),
    (
        route(
            "{ match: { prefix: /a }, route: { cluster: c, timeout: 3s, retry_policy: { retry_on: '5xx', num_retries: 2 } } },",
        ),
        "timeout = { first-byte = \"3s\", attempts = \"3s\" } retries = 2 retry = { on = [\"500-599\"], on-timeout = true }",
        false,
    ),
    (
        Places {
            routes: "{ match: { prefix: /a }, route: { cluster: b, hash_policy: [{ connection_properties: { source_ip: true } }] } },",
            cluster: "type: STATIC\n    lb_policy: RING_HASH",
            ..NOTHING
        },
        "hash-on = \"address\"",
        false,
    ),
    (
        route(
            "{ match: { prefix: /a }, route: { cluster: c, request_mirror_policies: [{ cluster: b }] } },",
        ),
        "mirror = { pool = \"b\" }",
        false,
    ),
];

const FIELDS: &[EnvoyCase] = &[
    (
        route(
            "{ match: { prefix: /a }, route: { cluster: c }, request_headers_to_add: [{ header: { key: X-User, value: '%REQ(x-a)%' }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }] },",
        ),
        "set = \"x-user: {header.x-a}\"",
        false,
    ),
    (
        route(
            "{ match: { prefix: /a }, route: { cluster: c }, request_headers_to_add: [{ header: { key: X-User, value: '%DYNAMIC_METADATA(a:b)%' }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }] },",
        ),
        "pool = \"c\" rewrite = { remove = \"x-user\"",
        true,
    ),
    (
        route(
            "{ match: { prefix: /a }, route: { cluster: c }, response_headers_to_add: [{ header: { key: X-A, value: b } }] },",
        ),
        "response-add = [{ field = \"x-a: b\", own = true }]",
        false,
    ),
    (manager("use_remote_address: true"), "set = \"x-forwarded-proto: {scheme}\"", false),
    (
        manager("use_remote_address: true"),
        "client-field = { name = \"X-Forwarded-For\", mode = \"list\" }",
        false,
    ),
];

const FIELDS2: &[EnvoyCase] = &[
    (manager("xff_num_trusted_hops: 1"), "x-forwarded = \"pass\"", true),
    (
        manager("forward_client_cert_details: ALWAYS_FORWARD_ONLY"),
        "remove = [\"x-envoy-external-address\", \"x-envoy-internal\"]",
        false,
    ),
    (manager("forward_client_cert_details: APPEND_FORWARD"), "\"x-forwarded-client-cert\"", true),
    (manager("server_name: edge"), "response-set = \"server: edge\"", false),
    (manager("strip_any_host_port: true"), "host = \"{host-name}\"", false),
    (
        manager("upgrade_configs: [{ upgrade_type: CONNECT }]"),
        "header = \"upgrade: websocket\"",
        true,
    ),
];

#[test]
fn matches_become_conditions() {
    check(MATCHES);
    let share = route(
        "{ match: { prefix: /a, runtime_fraction: { default_value: { numerator: 5 } } }, route: { cluster: c } },",
    );
    let text = converted(&share).text.unwrap();
    assert!(!text.contains("/a*"), "{text}");
}

#[test]
fn actions_become_what_a_rule_does() {
    check(ACTIONS);
}

#[test]
fn fields_that_servers_believe_are_not_the_clients() {
    check(FIELDS);
    check(FIELDS2);
    let upgrades = manager("upgrade_configs: [{ upgrade_type: websocket }]");
    assert!(!converted(&upgrades).text.unwrap().contains("upgrade: websocket"));
}
