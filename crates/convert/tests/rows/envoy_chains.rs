//! Conversion of Envoy's filter chains and virtual hosts where several could take a connection or a request.

use convert::dialect::Dialect;
use convert::run::convert;

use super::envoy::{NOTHING, file};

/// The rules of the listener, in their order.
fn rules_of(text: &str) -> Vec<String> {
    let bare = text.lines().map(|line| line.split(" # line").next().unwrap_or_default());
    let joined = bare.collect::<Vec<_>>().join(" ");
    let rules = joined.split("[[service.l.rule]]").skip(1);
    rules.map(|rule| rule.split(" #").next().unwrap_or_default().trim().to_owned()).collect()
}

#[test]
fn a_name_that_is_found_does_not_fall_back_to_another_chain() {
    let end = "filters: [{ name: t, typed_config: { '@type': x.TcpProxy, cluster: CLUSTER } }]";
    let chains = [
        format!("- {}", end.replace("CLUSTER", "c")),
        format!(
            "- filter_chain_match: {{ server_names: [a.example], source_prefix_ranges: [{{ address_prefix: 10.0.0.0, prefix_len: 8 }}] }}\n      {}",
            end.replace("CLUSTER", "b")
        ),
    ];
    let text = file(&NOTHING);
    let begin = text.find("    - \n").unwrap();
    let end = text.find("  clusters:").unwrap();
    let written = |default: &str| {
        let text =
            format!("{}    {}\n{default}{}", &text[..begin], chains.join("\n    "), &text[end..]);
        let result = convert(&text, "x", Dialect::Envoy);
        let toml = result.text.unwrap_or_else(|| panic!("{text}{:?}", result.notes));
        rules_of(&toml)
    };
    let named = "when = { sni = \"a.example\", client = \"10.0.0.0/8\" } pool = \"b\"";
    let rules = written("");
    assert_eq!(rules[..2], [named, "when = { sni = \"a.example\" } deny = true"], "{rules:?}");
    let tunnel = "    default_filter_chain:\n      filters: [{ name: t, typed_config: { '@type': x.TcpProxy, cluster: b } }]\n";
    let rules = written(tunnel);
    assert_eq!(rules[..2], [named, "when = { sni = \"a.example\" } pool = \"b\""], "{rules:?}");
    let connect = tunnel.replace("cluster: b }", "cluster: b, tunneling_config: { hostname: h } }");
    let rules = written(&connect);
    assert_eq!(rules[..2], [named, "when = { sni = \"a.example\" } deny = true"], "{rules:?}");
}

#[test]
fn hosts_are_told_apart_by_their_port() {
    let of_hosts = |manager: &str, hosts: &str| {
        let text = file(&NOTHING)
            .replace("            - name: v\n", &format!("{hosts}            - name: v\n"))
            .replace(
                "'@type': x.HttpConnectionManager\n",
                &format!("'@type': x.HttpConnectionManager\n          {manager}\n"),
            );
        convert(&text, "x", Dialect::Envoy)
    };
    let host = |name: &str, cluster: &str| {
        format!(
            "            - {{ name: '{name}', domains: ['{name}'], routes: [{{ match: {{ prefix: / }}, route: {{ cluster: {cluster} }} }}] }}\n"
        )
    };
    let two = host("a.example:8080", "c") + &host("a.example", "b");
    let alone = host("a.example:*", "c");
    let ported = "when = { header-regex = \"host: (?i)a\\\\.example:8080\" } pool = \"c\"";
    for (manager, hosts, wanted, left) in [
        ("", &two, ported, false),
        (
            "",
            &alone,
            "when = { header-regex = \"host: (?i)a\\\\.example:.+\" } pool = \"c\"",
            false,
        ),
        ("", &host("*:8443", "c"), "header-regex = \"host: (?i).+:8443\" } pool = \"c\"", false),
        ("strip_any_host_port: true", &alone, "", false),
        (
            "strip_matching_host_port: true",
            &two,
            "when = { header-regex = \"host: (?i)a\\\\.example:8080\" } answer = 404",
            true,
        ),
    ] {
        let result = of_hosts(manager, hosts);
        let text = result.text.unwrap_or_else(|| panic!("{:?}", result.notes));
        let rules = rules_of(&text);
        assert!(rules.iter().any(|rule| rule.contains(wanted)), "{wanted}\n{text}");
        // No rule takes the bare host of a name that only stands with ports.
        let open = wanted.is_empty() && text.contains("pool = \"c\"");
        assert!(!open, "{text}");
        assert_eq!(left, result.left_out > 0, "{:?}", result.notes);
    }
    let ignored = host("a.example:*", "c");
    let text = file(&NOTHING)
        .replace("            - name: v\n", &format!("{ignored}            - name: v\n"));
    let text = text.replace(
        "route_config:\n",
        "route_config:\n            ignore_port_in_host_matching: true\n",
    );
    let text = convert(&text, "x", Dialect::Envoy).text.unwrap();
    assert!(!text.contains("pool = \"c\""), "{text}");
}

#[test]
fn the_newest_of_the_oldest_tls_versions_holds_for_all_chains() {
    let tls = |names: &str, version: &str| {
        format!(
            "- filter_chain_match: {{ server_names: [{names}] }}\n      transport_socket: {{ name: tls, typed_config: {{ '@type': x.DownstreamTlsContext, common_tls_context: {{ tls_params: {{ tls_minimum_protocol_version: {version} }}, tls_certificates: [{{ certificate_chain: {{ filename: /a.pem }}, private_key: {{ filename: /a.key }} }}] }} }} }}\n      filters: [{{ name: t, typed_config: {{ '@type': x.TcpProxy, cluster: c }} }}]"
        )
    };
    let text = file(&NOTHING);
    let begin = text.find("    - \n").unwrap();
    let end = text.find("  clusters:").unwrap();
    let chains = format!("{}\n    {}", tls("a.example", "TLSv1_2"), tls("b.example", "TLSv1_3"));
    let text = format!("{}    {chains}\n{}", &text[..begin], &text[end..]);
    let result = convert(&text, "x", Dialect::Envoy);
    let toml = result.text.unwrap_or_else(|| panic!("{text}{:?}", result.notes));
    assert!(toml.contains("minimum = \"1.3\""), "{toml}");
}
