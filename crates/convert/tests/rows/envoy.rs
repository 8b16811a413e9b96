//! Conversion of clusters, listeners, hosts and filters of Envoy, one row each, in a whole bootstrap around them.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::{ConversionResult, convert};

/// Lines at their places in a bootstrap. Each is written on one line.
#[derive(Clone, Copy, Default)]
pub struct Places {
    /// Fields of the connection manager.
    pub manager: &'static str,
    /// HTTP filters before the router.
    pub filters: &'static str,
    /// Routes before the last one, which sends everything to cluster `b`.
    pub routes: &'static str,
    /// Fields of the virtual host.
    pub host: &'static str,
    /// Fields of cluster `b`.
    pub cluster: &'static str,
    /// Fields of the listener's only chain.
    pub chain: &'static str,
    /// Fields of the listener.
    pub listener: &'static str,
}

/// Nothing at any place.
pub const NOTHING: Places =
    Places { manager: "", filters: "", routes: "", host: "", cluster: "", chain: "", listener: "" };

pub fn file(places: &Places) -> String {
    let Places { manager, filters, routes, host, cluster, chain, listener } = places;
    let or = |text: &str, default: &str| {
        if text.is_empty() { default.to_owned() } else { text.to_owned() }
    };
    let servers = "load_assignment: { endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 10.0.0.1, port_value: 80 } } } }] }] }";
    let more = if cluster.contains("load_assignment") { "" } else { servers };
    format!(
        "static_resources:\n  listeners:\n  - name: l\n    address: {{ socket_address: {{ address: 127.0.0.1, port_value: 80 }} }}\n    {listener}\n    filter_chains:\n    - {chain}\n      filters:\n      - name: hcm\n        typed_config:\n          '@type': x.HttpConnectionManager\n          {manager}\n          http_filters: [{filters} {{ name: router, typed_config: {{ '@type': x.Router }} }}]\n          route_config:\n            virtual_hosts:\n            - name: v\n              {}\n              routes: [{routes} {{ match: {{ prefix: / }}, route: {{ cluster: b }} }}]\n  clusters:\n  - name: b\n    {}\n    {more}\n  - name: c\n    type: STATIC\n    load_assignment: {{ endpoints: [{{ lb_endpoints: [{{ endpoint: {{ address: {{ socket_address: {{ address: 10.0.0.2, port_value: 80 }} }} }} }}] }}] }}\n",
        or(host, "domains: ['*']"),
        or(cluster, "type: STATIC"),
    )
}

pub fn converted(places: &Places) -> ConversionResult {
    let text = file(places);
    let result = convert(&text, "x", Dialect::Envoy);
    assert_eq!(result.unsettled, 0, "{text}\n{:?}", result.notes);
    result
}

/// Places, what is written, and whether something is left out.
pub type EnvoyCase = (Places, &'static str, bool);

pub fn check(cases: &[EnvoyCase]) {
    for (places, wanted, left) in cases {
        let result = converted(places);
        let text = result.text.clone().unwrap_or_default();
        let bare = text.lines().map(|line| line.split(" # line").next().unwrap());
        let squeezed = bare.collect::<Vec<_>>().join(" ");
        assert!(
            squeezed.contains(wanted),
            "{}no {wanted} in\n{text}\n{:?}",
            file(places),
            result.notes
        );
        let notes: Vec<_> =
            result.notes.iter().filter(|note| note.kind == NoteKind::LeftOut).collect();
        assert_eq!(!notes.is_empty(), *left, "{}{notes:?}", file(places));
    }
}

pub const fn route(routes: &'static str) -> Places {
    Places { routes, ..NOTHING }
}

pub const fn manager(manager: &'static str) -> Places {
    Places { manager, ..NOTHING }
}

pub const fn filters(filters: &'static str) -> Places {
    Places { filters, ..NOTHING }
}

pub const fn cluster(cluster: &'static str) -> Places {
    Places { cluster, ..NOTHING }
}

#[test]
fn filters_that_decide_about_access_close_their_routes() {
    for (filter, refusal) in [
        ("x.ExtAuthz", "deny = true"),
        ("x.JwtAuthentication", "answer = 401"),
        ("x.OAuth2", "answer = 401"),
        ("x.BasicAuth", "answer = 401"),
        ("x.ApiKeyAuth", "answer = 401"),
        ("x.Lua", "deny = true"),
        ("x.Wasm", "deny = true"),
        ("x.ExternalProcessor", "deny = true"),
        ("x.SomethingNew", "deny = true"),
    ] {
        let text = file(&Places::default()).replace(
            "http_filters: [",
            &format!("http_filters: [{{ name: f, typed_config: {{ '@type': {filter} }} }}, "),
        );
        let result = convert(&text, "x", Dialect::Envoy);
        let written = result.text.unwrap_or_default();
        let rules = written.split_once("[[service.l.rule]]").unwrap().1;
        let open =
            rules.lines().any(|line| line.starts_with("rewrite") || line.starts_with("split"));
        assert!(written.contains(refusal) && !open, "{filter}\n{written}");
        assert!(result.left_out > 0 && result.unsettled == 0);
    }
    let off = "typed_per_filter_config: { f: { '@type': x.ExtAuthzPerRoute, disabled: true } }";
    let text = file(&Places::default())
        .replace(
            "http_filters: [",
            "http_filters: [{ name: f, typed_config: { '@type': x.ExtAuthz } }, ",
        )
        .replace(
            "routes: [",
            &format!("routes: [{{ match: {{ path: /open }}, route: {{ cluster: c }}, {off} }}, "),
        );
    let written = convert(&text, "x", Dialect::Envoy).text.unwrap();
    assert!(written.contains("when = { path = \"/open\" }\npool = \"c\""), "{written}");
}

#[test]
fn policies_of_access_become_refusals() {
    let rbac = "{ name: rbac, typed_config: { '@type': x.RBAC, rules: { action: DENY, policies: { p: { permissions: [{ url_path: { path: { prefix: /admin } } }], principals: [{ not_id: { direct_remote_ip: { address_prefix: 10.0.0.0, prefix_len: 8 } } }] } } } } },";
    let unknown = "{ name: rbac, typed_config: { '@type': x.RBAC, rules: { action: ALLOW, policies: { p: { permissions: [{ any: true }], principals: [{ authenticated: {} }] } } } } },";
    let proxied = "{ name: rbac, typed_config: { '@type': x.RBAC, rules: { action: DENY, policies: { p: { permissions: [{ any: true }], principals: [{ remote_ip: { address_prefix: 10.0.0.0, prefix_len: 8 } }] } } } } },";
    let rate = "{ name: f, typed_config: { '@type': x.LocalRateLimit, token_bucket: { max_tokens: 20, tokens_per_fill: 5, fill_interval: 1s }, filter_enabled: { default_value: { numerator: 100 } }, filter_enforced: { default_value: { numerator: 100 } } } },";
    check(&[
        (
            filters(rbac),
            "when = { path = \"/admin*\", not = { client = \"10.0.0.0/8\" } } deny = true",
            false,
        ),
        (filters(unknown), "[[service.l.rule]] deny = true", true),
        // The client's address is in a field that anybody may write.
        (filters(proxied), "[[service.l.rule]] deny = true", true),
        (filters(rate), "limit = { rate = 5, burst = 20 }", false),
        (
            filters(
                "{ name: f, typed_config: { '@type': x.HealthCheck, pass_through_mode: false, headers: [{ name: ':path', string_match: { exact: /up } }] } },",
            ),
            "when = { path = \"/up\" } answer = 200",
            false,
        ),
        (
            filters("{ name: f, typed_config: { '@type': x.Buffer, max_request_bytes: 1000 } },"),
            "buffer = { request = \"1000B\", when-larger = \"refuse\" }",
            false,
        ),
        (
            filters(
                "{ name: f, typed_config: { '@type': x.HeaderMutation, mutations: { request_mutations: [{ remove: x-a }] } } },",
            ),
            "\"x-a\"",
            false,
        ),
    ]);
}

#[test]
fn clusters_become_pools() {
    let tls = "type: STATIC\n    transport_socket: { name: tls, typed_config: { '@type': x.UpstreamTlsContext, sni: a.example, common_tls_context: { validation_context: { trusted_ca: { filename: /ca.pem }, match_typed_subject_alt_names: [{ san_type: DNS, matcher: { exact: a.example } }] } } } }";
    let spiffe = "type: STATIC\n    transport_socket: { name: tls, typed_config: { '@type': x.UpstreamTlsContext, common_tls_context: { validation_context: { trusted_ca: { filename: /ca.pem }, match_typed_subject_alt_names: [{ san_type: URI, matcher: { exact: 'spiffe://a' } }] } } } }";
    let pipe = "type: STATIC\n    load_assignment: { endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path: /run/a.sock } } } }] }] }";
    let names = "type: STRICT_DNS\n    load_assignment: { endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: a.example, port_value: 80 } } } }] }] }";
    check(&[
        (cluster("type: STATIC"), "retries = 0", false),
        (cluster("type: STATIC"), "first-byte = \"15s\"", false),
        (cluster("type: STATIC\n    connect_timeout: 0.25s"), "connect = \"250ms\"", false),
        (cluster("type: STATIC\n    lb_policy: MAGLEV"), "balance = \"maglev\"", false),
        (
            cluster("type: STATIC\n    lb_policy: CLUSTER_PROVIDED"),
            "balance = \"least-request\"",
            true,
        ),
        (cluster("type: EDS"), "answer = 503", true),
        (cluster("type: ORIGINAL_DST"), "answer = 503", true),
        (cluster(names), "servers-from = { dns = \"a.example\", port = 80 }", false),
        (cluster(pipe), "address = \"unix:/run/a.sock\"", false),
        (cluster(tls), "ca = \"/ca.pem\" name = \"a.example\"", false),
        // Who the server is cannot be verified.
        (cluster(spiffe), "answer = 503", true),
        (
            cluster(
                "type: STATIC\n    transport_socket: { name: tls, typed_config: { '@type': x.UpstreamTlsContext, sni: a.example } }",
            ),
            "verify = \"off\"",
            false,
        ),
        (
            cluster(
                "type: STATIC\n    transport_socket: { name: quic, typed_config: { '@type': x.QuicUpstreamTransport } }",
            ),
            "answer = 503",
            true,
        ),
        (
            cluster(
                "type: STATIC\n    health_checks: [{ timeout: 1s, interval: 3s, unhealthy_threshold: 2, healthy_threshold: 1, tcp_health_check: { send: { text: '50494E470A' }, receive: [{ text: '504F4E47' }] } }]",
            ),
            "probe = { tcp = true, send = \"PING\\n\", expect = \"PONG\", interval = \"3s\"",
            false,
        ),
        (cluster("type: STATIC\n    outlier_detection: {}"), "max-percent = 100", false),
        (
            cluster(
                "type: STATIC\n    circuit_breakers: { thresholds: [{ max_connections: 4294967295, max_retries: 0 }] }",
            ),
            "circuit-breaker = { connections = \"off\", pending = 1024, requests = 1024, retries = 0 }",
            false,
        ),
    ]);
}

#[test]
fn listeners_whose_tls_cannot_be_written_are_left_out() {
    let tls = |more: &'static str| Places { chain: more, ..Places::default() };
    let context = "transport_socket: { name: tls, typed_config: { '@type': x.DownstreamTlsContext,";
    let certificate = "tls_certificates: [{ certificate_chain: { filename: /a.pem }, private_key: { filename: /a.key } }]";
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    for (more, wanted) in [
        (
            format!("{context} common_tls_context: {{ {certificate} }} }} }}"),
            "certificates = \"/a.pem\"",
        ),
        (
            format!(
                "{context} require_client_certificate: true, common_tls_context: {{ {certificate}, validation_context: {{ trusted_ca: {{ filename: /ca.pem }} }} }} }} }}"
            ),
            "client = { ca = \"/ca.pem\", verify = \"required\" }",
        ),
        (
            format!(
                "{context} common_tls_context: {{ tls_certificates: [{{ certificate_chain: {{ inline_string: x }} }}] }} }} }}"
            ),
            "",
        ),
        (
            format!(
                "{context} common_tls_context: {{ tls_certificate_sds_secret_configs: [{{ name: nobody }}] }} }} }}"
            ),
            "",
        ),
        (
            format!(
                "{context} require_client_certificate: true, common_tls_context: {{ {certificate} }} }} }}"
            ),
            "",
        ),
        (
            format!(
                "{context} require_client_certificate: true, common_tls_context: {{ {certificate}, validation_context: {{ trusted_ca: {{ filename: /ca.pem }}, verify_certificate_hash: [ab] }} }} }} }}"
            ),
            "",
        ),
        (
            "transport_socket: { name: x, typed_config: { '@type': x.StartTlsConfig } }".to_owned(),
            "",
        ),
    ] {
        let places = tls(leak(more));
        let result = converted(&places);
        let text = result.text.unwrap_or_default();
        assert!(text.contains(wanted), "{}{text}", file(&places));
        assert_eq!(wanted.is_empty(), !text.contains("[service.l]"), "{}{text}", file(&places));
        assert_eq!(wanted.is_empty(), result.left_out > 0, "{}{:?}", file(&places), result.notes);
    }
    let filter =
        Places { listener: "listener_filters: [{ name: x.original_dst }]", ..Places::default() };
    assert!(!converted(&filter).text.unwrap_or_default().contains("[service.l]"));
    let rds = file(&Places::default())
        .replace("route_config:", "rds: { route_config_name: x }\n          unused:");
    let written = convert(&rds, "x", Dialect::Envoy).text.unwrap();
    assert!(written.contains("answer = 503") && !written.contains("rewrite"), "{written}");
}

#[test]
fn hosts_are_asked_from_the_most_specific_name() {
    let host = Places {
        host: "domains: [b.example, '*.b.example', 'www.*', 'x.example:8080']",
        ..Places::default()
    };
    check(&[(
        host,
        "when = { any = [{ host = [\"b.example\", \"*.b.example\"] }, { host-regex = \"www\\\\..+\" }] } pool = \"b\"",
        false,
    )]);
    let text = converted(&host).text.unwrap();
    assert!(text.contains("header-regex = \"host: (?i)x\\\\.example:8080\""), "{text}");
    assert!(text.trim_end().contains("answer = 404"), "{text}");
    let only_tls =
        Places { host: "domains: ['*']\n              require_tls: ALL", ..Places::default() };
    check(&[(
        only_tls,
        "redirect = { to = \"https://{host}{path}{query}\", status = 301 }",
        false,
    )]);
}

#[test]
fn a_bootstrap_is_known_in_yaml_and_in_json() {
    assert_eq!(Dialect::recognise(&file(&Places::default())), Some(Dialect::Envoy));
    let json = "{ \"static_resources\": { \"listeners\": [] } }";
    assert_eq!(Dialect::recognise(json), Some(Dialect::Envoy));
    for text in [
        "",
        "[]",
        "a",
        "static_resources:\n  listeners: 5\n",
        "static_resources: [",
        "a: 1\n---\nb: 2\n",
    ] {
        let result = convert(text, "x", Dialect::Envoy);
        assert_eq!(result.text, None, "{text}");
        assert_eq!(result.unsettled, 0);
    }
}
