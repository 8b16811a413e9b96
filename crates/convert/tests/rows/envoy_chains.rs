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
fn hosts_that_a_port_tells_apart_are_refused() {
    let two = file(&NOTHING).replace(
        "            - name: v\n",
        "            - { name: w, domains: ['a.example:8080'], routes: [{ match: { prefix: / }, route: { cluster: c } }] }\n            - { name: x, domains: [a.example], routes: [{ match: { prefix: / }, route: { cluster: b } }] }\n            - name: v\n",
    );
    let result = convert(&two, "x", Dialect::Envoy);
    let text = result.text.unwrap_or_else(|| panic!("{:?}", result.notes));
    let rules = rules_of(&text);
    let at = |wanted: &str| rules.iter().position(|rule| rule.contains(wanted));
    let closed =
        at("when = { host = \"a.example\" } answer = 404").unwrap_or_else(|| panic!("{text}"));
    assert!(at("pool = \"c\"").is_none_or(|open| closed < open), "{text}");
    assert!(result.left_out > 0);
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
