//! Large files of Envoy.

use convert::dialect::Dialect;

use crate::shape::{FileShape, address, each};

pub const SHAPES: [FileShape; 8] = [
    FileShape::new(Dialect::Envoy, "listeners", listeners),
    FileShape::new(Dialect::Envoy, "clusters", clusters),
    FileShape::new(Dialect::Envoy, "endpoints", endpoints),
    FileShape::new(Dialect::Envoy, "hosts", hosts),
    FileShape::new(Dialect::Envoy, "routes", routes),
    FileShape::new(Dialect::Envoy, "domains", domains),
    FileShape::new(Dialect::Envoy, "nested", nested),
    FileShape::new(Dialect::Envoy, "aliases", aliases),
];

fn listeners(lines: usize) -> String {
    let one = |at: usize| {
        format!(
            "  - address: {{ socket_address: {{ address: {}, port_value: 80 }} }}\n    filter_chains:\n    - filters:\n      - name: t\n        typed_config:\n          \"@type\": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy\n          stat_prefix: t\n          cluster: c\n",
            address(at)
        )
    };
    format!("static_resources:\n  listeners:\n{}{}", each(lines / 8, one), cluster(""))
}

fn clusters(lines: usize) -> String {
    let routes = each(lines / 9, |at| {
        format!(
            "              - match: {{ prefix: /p{at}/ }}\n                route: {{ cluster: c{at} }}\n"
        )
    });
    let one = |at: usize| {
        format!(
            "  - name: c{at}\n    connect_timeout: 1s\n    load_assignment:\n      endpoints:\n      - lb_endpoints:\n        - endpoint: {{ address: {{ socket_address: {{ address: {}, port_value: 80 }} }} }}\n",
            address(at)
        )
    };
    format!("{}{}{}", http(&host("\"*\"", &routes)), cluster(""), each(lines / 9, one))
}

fn endpoints(lines: usize) -> String {
    let one = |at: usize| {
        format!(
            "        - endpoint: {{ address: {{ socket_address: {{ address: {}, port_value: 80 }} }} }}\n",
            address(at)
        )
    };
    let route = "              - match: { prefix: / }\n                route: { cluster: c }\n";
    http(&host("\"*\"", route)) + &cluster(&each(lines, one))
}

fn hosts(lines: usize) -> String {
    let route = "              - match: { prefix: / }\n                route: { cluster: c }\n";
    http(&each(lines / 5, |at| host(&format!("h{at}.example"), route))) + &cluster("")
}

fn routes(lines: usize) -> String {
    let one = |at: usize| {
        format!(
            "              - match: {{ prefix: /p{at}/ }}\n                route: {{ cluster: c }}\n"
        )
    };
    http(&host("\"*\"", &each(lines / 2, one))) + &cluster("")
}

fn domains(lines: usize) -> String {
    let route = "              - match: { prefix: / }\n                route: { cluster: c }\n";
    let names = each(lines, |at| format!("h{at}.example, "));
    http(&host(&names, route)) + &cluster("")
}

fn nested(lines: usize) -> String {
    let open = each(lines.min(2_000), |at| format!("{}and_rules:\n", " ".repeat(at)));
    format!(
        "static_resources:\n  listeners:\n{open}{}",
        "  - {}\n".repeat(lines.saturating_sub(2_000))
    )
}

fn aliases(lines: usize) -> String {
    let merged = each(lines / 5, |at| {
        format!(
            "  - <<: *one\n    name: c{at}\n    alt_stat_name: x\n    connect_timeout: 1s\n    lb_policy: RANDOM\n"
        )
    });
    let route = "              - match: { prefix: / }\n                route: { cluster: c0 }\n";
    let anchored = cluster("").replacen("  - name: c\n", "  - &one\n    name: c\n", 1);
    http(&host("\"*\"", route)) + &anchored + &merged
}

fn http(hosts: &str) -> String {
    format!(
        "static_resources:\n  listeners:\n  - address: {{ socket_address: {{ address: 0.0.0.0, port_value: 80 }} }}\n    filter_chains:\n    - filters:\n      - name: h\n        typed_config:\n          \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager\n          stat_prefix: h\n          http_filters:\n          - name: envoy.filters.http.router\n          route_config:\n            virtual_hosts:\n{hosts}"
    )
}

fn host(domains: &str, routes: &str) -> String {
    format!(
        "            - name: n\n              domains: [{domains}]\n              routes:\n{routes}"
    )
}

fn cluster(more: &str) -> String {
    format!(
        "  clusters:\n  - name: c\n    connect_timeout: 1s\n    load_assignment:\n      endpoints:\n      - lb_endpoints:\n        - endpoint: {{ address: {{ socket_address: {{ address: 10.255.0.1, port_value: 80 }} }} }}\n{more}"
    )
}
