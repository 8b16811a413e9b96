//! Filter chains of a listener: which connections they take, and what ends them.

use model::config::IpPrefix;

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;

use super::fields::settle_rest;
use super::hidden_fields::HiddenFields;
use super::rbac::{AddressSight, read_rules};
use super::reader::{leave_out, take_number, take_text, take_texts, take_type};
use super::rule::EnvoyRule;
use super::strings::{extension_type, take_network, unsupported};

/// What a chain does with its connections.
#[derive(Clone, Copy)]
pub enum ChainEnd<'t> {
    Http(&'t ConfigNode),
    Tcp(&'t ConfigNode),
    /// Nothing takes the connections, so they are refused.
    Closed,
}

/// One filter chain of a listener.
pub struct FilterChain<'t> {
    pub node: &'t ConfigNode,
    /// Names of the TLS handshake; none stands for all.
    pub names: Vec<String>,
    /// Networks of clients; none stands for all.
    pub networks: Vec<IpPrefix>,
    /// What else has to hold.
    pub when: RuleCondition,
    /// It takes connections for which no other chain is found.
    pub is_default: bool,
    /// The context of TLS towards clients.
    pub tls: Option<&'t ConfigNode>,
    /// Rules before those of the end.
    pub rules: Vec<EnvoyRule>,
    pub end: ChainEnd<'t>,
    /// Connections at a time.
    pub limit: Option<u64>,
    /// Its transport cannot be written.
    pub is_unwritable: bool,
}

/// The chains of a listener, the default one last.
pub fn read_chains<'t>(
    listener: &'t ConfigNode,
    accepts_proxy: bool,
    notes: &mut ConversionNotes,
) -> Vec<FilterChain<'t>> {
    let chains = listener.get("filter_chains").map(ConfigNode::items).unwrap_or_default();
    let mut found: Vec<FilterChain<'t>> =
        chains.iter().map(|node| read_chain(node, accepts_proxy, notes)).collect();
    if let Some(node) = listener.get("default_filter_chain") {
        let mut chain = read_chain(node, accepts_proxy, notes);
        // Envoy does not look at the match of the default chain.
        chain.names.clear();
        chain.networks.clear();
        chain.when = RuleCondition::Is(true);
        chain.is_default = true;
        found.push(chain);
    }
    found
}

fn read_chain<'t>(
    node: &'t ConfigNode,
    accepts_proxy: bool,
    notes: &mut ConversionNotes,
) -> FilterChain<'t> {
    let mut chain = FilterChain {
        node,
        names: Vec::new(),
        when: RuleCondition::Is(true),
        networks: Vec::new(),
        is_default: false,
        tls: None,
        rules: Vec::new(),
        end: ChainEnd::Closed,
        limit: None,
        is_unwritable: false,
    };
    read_transport(node, &mut chain, notes);
    if let Some(matched) = node.get("filter_chain_match") {
        read_match(matched, accepts_proxy, &mut chain, notes);
        if matched.is_empty() {
            notes.converted(matched.source);
        }
    }
    for filter in node.get("filters").map(ConfigNode::items).unwrap_or_default() {
        read_filter(filter, accepts_proxy, &mut chain, notes);
    }
    settle_rest("filter_chain", node, notes);
    chain
}

fn read_transport<'t>(
    node: &'t ConfigNode,
    chain: &mut FilterChain<'t>,
    notes: &mut ConversionNotes,
) {
    if let Some(old) = node.get("tls_context") {
        leave_out(old, "it is a field of an older version", "`transport_socket`", notes);
        chain.is_unwritable = true;
    }
    let Some(field) = node.get("transport_socket") else { return };
    let name = take_text(field, "name", notes).unwrap_or_default();
    let config = field.get("typed_config");
    let kind = config.map(|config| take_type(config, notes)).unwrap_or_default();
    match (kind, config) {
        ("DownstreamTlsContext", Some(config)) => chain.tls = Some(config),
        ("RawBuffer", _) => {}
        ("", None) if name.ends_with("raw_buffer") => {}
        _ => {
            leave_out(field, "there is no such transport", "`tls` of the service", notes);
            chain.is_unwritable = true;
        }
    }
}

fn read_match(
    node: &ConfigNode,
    accepts_proxy: bool,
    chain: &mut FilterChain<'_>,
    notes: &mut ConversionNotes,
) {
    let names = take_texts(node, "server_names", notes);
    chain.names = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    let mut parts = Vec::new();
    for key in ["source_prefix_ranges", "direct_source_prefix_ranges"] {
        let mut networks = Vec::new();
        for item in node.get(key).map(ConfigNode::items).unwrap_or_default() {
            match take_network(item, notes) {
                Some(network) => networks.push(network),
                None => parts.push(RuleCondition::Unknown(unsupported(item.describe()))),
            }
        }
        if key.starts_with("direct") && accepts_proxy && !networks.is_empty() {
            parts.push(RuleCondition::Unknown(unsupported("an address before a PROXY header")));
        } else if chain.networks.is_empty() {
            chain.networks = networks;
        } else if !networks.is_empty() {
            let texts: Vec<String> = networks.iter().map(IpPrefix::to_string).collect();
            parts.push(RuleCondition::texts("client", &texts));
        }
    }
    match take_text(node, "transport_protocol", notes) {
        None | Some("") => {}
        // A connection with a name has TLS.
        Some("tls") if chain.tls.is_some() || !chain.names.is_empty() => {}
        Some("raw_buffer") if chain.tls.is_none() => {
            let reason =
                "connections with TLS come here, too, unless a name of another chain takes them";
            notes.changed(node.source, "transport_protocol", reason, "");
        }
        Some(_) => parts.push(RuleCondition::Unknown(unsupported("`transport_protocol`"))),
    }
    if let Some(name) = node.get("name") {
        notes.not_needed(name.source.whole(), name.describe(), "it only names the match");
        name.mark_read();
    }
    for field in node.unread_entries() {
        parts.push(RuleCondition::Unknown(unsupported(field.describe())));
        leave_out(
            field,
            "a chain is chosen by the name in TLS and the client's address",
            "`when`",
            notes,
        );
    }
    chain.when = RuleCondition::All(parts);
    if let Some(why) = chain.when.unknown() {
        let instead = "rules on `sni` and `client`; until then such connections are refused";
        notes.left_out(node.source, node.describe(), &why.reason, instead);
    }
}

/// Reads one network filter of a chain.
fn read_filter<'t>(
    filter: &'t ConfigNode,
    accepts_proxy: bool,
    chain: &mut FilterChain<'t>,
    notes: &mut ConversionNotes,
) {
    let name = take_text(filter, "name", notes).unwrap_or_default();
    let kind = extension_type(filter, notes);
    let kind = if kind.is_empty() { name.rsplit('.').next().unwrap_or_default() } else { kind };
    let Some(config) = filter.get("typed_config") else {
        leave_out(filter, "it has no configuration: connections are refused", "", notes);
        chain.rules.push(EnvoyRule::refusal(RuleCondition::Is(true), None, filter.source, name));
        return;
    };
    match kind {
        "HttpConnectionManager" => chain.end = ChainEnd::Http(config),
        "TcpProxy" => chain.end = ChainEnd::Tcp(config),
        "RBAC" => {
            let sight = AddressSight { hides_clients: false, hides_peers: accepts_proxy };
            chain.rules.extend(read_rules(config, sight, &HiddenFields::default(), notes));
        }
        "ConnectionLimit" => {
            chain.limit = take_number(config, "max_connections", notes).filter(|most| *most > 0);
            take_text(config, "stat_prefix", notes);
            for other in config.unread_entries() {
                leave_out(other, "newcomers are refused at once", "`limit.connections`", notes);
            }
        }
        _ => {
            let reason = "there is no such filter, and what it lets through is not known: connections are refused";
            leave_out(filter, reason, "", notes);
            chain.rules.push(EnvoyRule::refusal(
                RuleCondition::Is(true),
                None,
                filter.source,
                name,
            ));
        }
    }
}
