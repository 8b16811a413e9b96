//! Conversion of tests of fields that Envoy or its filters write before they are judged, one row each: a client's own
//! word never counts for them.

use crate::envoy::{EnvoyCase, NOTHING, Places, check, cluster, filters, manager, route};

const BY_A: &str = "{ match: { prefix: /, headers: [{ name: x-a, string_match: { exact: v } }] }, route: { cluster: c } },";
const ALLOW_A: &str = "{ name: rbac, typed_config: { '@type': x.RBAC, rules: { action: ALLOW, policies: { p: { permissions: [{ header: { name: x-a, string_match: { exact: v } } }], principals: [{ any: true }] } } } } },";

const OWN: &[EnvoyCase] = &[
    (
        route(
            "{ match: { prefix: /, headers: [{ name: x-envoy-internal, string_match: { exact: 'true' } }] }, route: { cluster: c } },",
        ),
        "[[service.l.rule]] deny = true",
        true,
    ),
    (
        route(
            "{ match: { prefix: /, headers: [{ name: x-envoy-external-address, present_match: true }] }, direct_response: { status: 403 } },",
        ),
        "[[service.l.rule]] answer = { status = 403",
        true,
    ),
    // Nobody connects with this field, since it is removed before routes are asked.
    (
        route(
            "{ match: { prefix: /, headers: [{ name: x-forwarded-client-cert, present_match: true }] }, route: { cluster: c } },",
        ),
        "[[service.l.edit]] rewrite = { remove = [\"x-envoy-external-address\", \"x-envoy-internal\", \"x-forwarded-client-cert\"] }",
        false,
    ),
    (
        Places {
            manager: "forward_client_cert_details: SANITIZE_SET",
            routes: "{ match: { prefix: /, headers: [{ name: x-forwarded-client-cert, present_match: true }] }, route: { cluster: c } },",
            ..NOTHING
        },
        "[[service.l.rule]] deny = true",
        true,
    ),
    (
        Places {
            manager: "use_remote_address: true",
            routes: "{ match: { prefix: /, headers: [{ name: x-forwarded-for, string_match: { exact: 10.0.0.1 } }] }, route: { cluster: c } },",
            ..NOTHING
        },
        "[[service.l.rule]] deny = true",
        true,
    ),
    (
        Places {
            manager: "use_remote_address: true",
            routes: "{ match: { prefix: /, headers: [{ name: x-forwarded-proto, string_match: { exact: https } }] }, route: { cluster: c } },",
            ..NOTHING
        },
        "[[service.l.edit]] rewrite = { set = \"x-forwarded-proto: {scheme}\"",
        false,
    ),
    (
        manager("use_remote_address: false"),
        "when = { not = { header = [\"x-forwarded-proto: http\", \"x-forwarded-proto: https\"] } } rewrite = { set = \"x-forwarded-proto: {scheme}\" }",
        false,
    ),
    // There is no such field in HTTP/1.
    (
        route(
            "{ match: { prefix: /, headers: [{ name: ':protocol', present_match: true }] }, route: { cluster: c } },",
        ),
        "[[service.l.rule]] deny = true",
        true,
    ),
    (
        route(
            "{ match: { prefix: /, headers: [{ name: x-a, string_match: { exact: ' v' } }] }, route: { cluster: c } },",
        ),
        "[[service.l.rule]] pool = \"b\"",
        false,
    ),
];

const FILTERS: &[EnvoyCase] = &[
    // What a filter changes, the next one judges.
    (
        filters(
            "{ name: m, typed_config: { '@type': x.HeaderMutation, mutations: { request_mutations: [{ remove: x-a }] } } }, { name: rbac, typed_config: { '@type': x.RBAC, rules: { action: ALLOW, policies: { p: { permissions: [{ header: { name: x-a, string_match: { exact: v } } }], principals: [{ any: true }] } } } } },",
        ),
        "[[service.l.rule]] deny = true",
        true,
    ),
    (
        Places {
            filters: "{ name: m, typed_config: { '@type': x.HeaderMutation } }, { name: rbac, typed_config: { '@type': x.RBAC, rules: { action: ALLOW, policies: { p: { permissions: [{ header: { name: x-a, string_match: { exact: v } } }], principals: [{ any: true }] } } } } },",
            routes: "{ match: { prefix: /a }, route: { cluster: c }, typed_per_filter_config: { m: { '@type': x.HeaderMutationPerRoute, mutations: { request_mutations: [{ remove: x-a }] } } } },",
            ..NOTHING
        },
        "[[service.l.rule]] deny = true",
        true,
    ),
    (filters(ALLOW_A), "when = { not = { header = \"x-a: v\" } } deny = true", false),
    // Routes are looked for again with these.
    (
        Places {
            filters: "{ name: t, typed_config: { '@type': x.IPTagging } },",
            routes: "{ match: { prefix: /, headers: [{ name: x-envoy-ip-tags, string_match: { exact: t } }] }, route: { cluster: c } },",
            ..NOTHING
        },
        "[[service.l.rule]] deny = true",
        true,
    ),
    (
        Places {
            manager: "early_header_mutation_extensions: [{ name: e, typed_config: { '@type': x.HeaderMutation, mutations: [{ remove: x-a }] } }]",
            routes: BY_A,
            ..NOTHING
        },
        "\"x-a\", \"x-envoy-external-address\", \"x-envoy-internal\", \"x-forwarded-client-cert\"] }",
        false,
    ),
    (
        Places {
            manager: "early_header_mutation_extensions: [{ name: e, typed_config: { '@type': x.HeaderMutation, mutations: [{ append: { header: { key: X-A, value: '%START_TIME%' }, append_action: OVERWRITE_IF_EXISTS_OR_ADD } }] } }]",
            routes: BY_A,
            ..NOTHING
        },
        "[[service.l.rule]] deny = true",
        true,
    ),
    // Filters behind the choice of a server may refuse and change what they want.
    (
        filters(
            "{ name: r, typed_config: { '@type': x.Router, upstream_http_filters: [{ name: m, typed_config: { '@type': x.HeaderMutation } }] } },",
        ),
        "[[service.l.rule]] deny = true",
        true,
    ),
    (
        cluster(
            "type: STATIC\n    typed_extension_protocol_options: { envoy.extensions.upstreams.http.v3.HttpProtocolOptions: { '@type': x.HttpProtocolOptions, http_filters: [{ name: m, typed_config: { '@type': x.HeaderMutation } }] } }",
        ),
        "answer = 503",
        true,
    ),
];

const VALUES: &[EnvoyCase] = &[
    // A value would see what the client sent.
    (
        route(
            "{ match: { prefix: /a }, route: { cluster: c }, request_headers_to_add: [{ header: { key: X-A, value: a }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }, { header: { key: X-B, value: '%REQ(x-a)%' }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }] },",
        ),
        "pool = \"c\" rewrite = { set = \"x-a: a\", remove = \"x-b\"",
        true,
    ),
    (
        Places {
            host: "domains: ['*']\n              request_headers_to_add: [{ header: { key: X-B, value: '%REQ(x-a)%' }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }]",
            routes: "{ match: { prefix: /a }, route: { cluster: c }, request_headers_to_remove: [X-A] },",
            ..NOTHING
        },
        "pool = \"c\" rewrite = { remove = [\"x-a\", \"x-b\"]",
        true,
    ),
    (
        route(
            "{ match: { prefix: /a }, route: { cluster: c }, request_headers_to_add: [{ header: { key: X-A, value: '' }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }] },",
        ),
        "pool = \"c\" rewrite = { response-set",
        false,
    ),
    // Each level changes fields, and the nearest comes first.
    (
        Places {
            filters: "{ name: m, typed_config: { '@type': x.HeaderMutation } },",
            host: "domains: ['*']\n              typed_per_filter_config: { m: { '@type': x.HeaderMutationPerRoute, mutations: { request_mutations: [{ append: { header: { key: x-a, value: host }, append_action: OVERWRITE_IF_EXISTS_OR_ADD } }] } } }",
            routes: "{ match: { prefix: /a }, route: { cluster: c }, typed_per_filter_config: { m: { '@type': x.HeaderMutationPerRoute, mutations: { request_mutations: [{ append: { header: { key: x-a, value: route }, append_action: OVERWRITE_IF_EXISTS_OR_ADD } }] } } } },",
            ..NOTHING
        },
        "pool = \"c\" rewrite = { set = \"x-a: host\"",
        false,
    ),
    // Servers are told of the host that they do not get.
    (
        route("{ match: { prefix: /a }, route: { cluster: c, append_x_forwarded_host: true } },"),
        "pool = \"c\" rewrite = { response-set",
        false,
    ),
];

const PATHS: &[EnvoyCase] = &[
    (
        route(
            "{ match: { path_separated_prefix: /A, case_sensitive: false }, direct_response: { status: 403 } },",
        ),
        "when = { path-regex = \"(?i)/A(?:/.*)?\" } answer = { status = 403",
        false,
    ),
    (
        route("{ match: { prefix: /a }, route: { cluster: c, prefix_rewrite: '/x?y=1' } },"),
        "when = { path = \"/a*\" } answer = 502",
        true,
    ),
];

#[test]
fn fields_that_envoy_writes_are_not_judged_as_the_client_sent_them() {
    check(OWN);
    check(FILTERS);
}

#[test]
fn values_are_those_of_the_original_or_removed() {
    check(VALUES);
    check(PATHS);
}

#[test]
fn paths_with_parameters_that_do_not_count_are_refused() {
    let text = crate::envoy::file(&NOTHING).replace(
        "route_config:\n",
        "route_config:\n            ignore_path_parameters_in_path_matching: true\n",
    );
    let result = convert::run::convert(&text, "x", convert::dialect::Dialect::Envoy);
    let written = result.text.unwrap();
    assert!(written.contains("when = { path-regex = \".*;.*\" }\nanswer = 502"), "{written}");
    assert!(result.left_out > 0 && result.unsettled == 0);
}
