//! Parses and checks a network's file; returns a plan, or all mistakes with their places.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use model::config::suggestion::nearest_match;
use model::config::syntax_message::locate_syntax_error;
use thiserror::Error;
use toml::{Table, Value};

use super::link::{self, LinkDefinition, WrittenLinkEnd};
use super::net::InterfaceAddress;
use super::plan::{
    NodeKind, TopologyLink, TopologyLinkEnd, TopologyNode, TopologyPlan, TopologyRoute,
    TopologySetting,
};
use super::section::{FileSection, Mistakes};

/// Why a file is invalid.
#[derive(Debug, Error)]
pub enum TopologyFileError {
    /// The file is not TOML.
    #[error("{0}")]
    Form(String),
    /// The file describes an impossible network.
    #[error("{}", .0.0.join("\n"))]
    Mistakes(Mistakes),
}

/// Limit for the nodes of a network.
const NODES: usize = 64;
/// Limit for the links of a network.
const LINKS: usize = 256;

/// Parses a network; `name` is the default for its name.
pub fn parse_topology(text: &str, name: &str) -> Result<TopologyPlan, TopologyFileError> {
    let table: Table = toml::from_str(text)
        .map_err(|error| TopologyFileError::Form(locate_syntax_error(&error, text)))?;
    let mut wrong = Mistakes::default();
    let mut top = FileSection::from_value("", Value::Table(table), &mut wrong);
    let name = top.text("name", &mut wrong).unwrap_or_else(|| name.to_owned());
    if !is_name(&name) {
        wrong.add("name", format!("found `{name}`, expected {NAME}"));
    }
    let mut nodes = Vec::new();
    for (key, kind) in
        [("host", NodeKind::Host), ("router", NodeKind::Router), ("bridge", NodeKind::Bridge)]
    {
        if let Some(value) = top.take(key) {
            let names = FileSection::from_value(key, value, &mut wrong);
            let found = names
                .remaining()
                .into_iter()
                .map(|(name, value)| parse_node(name, kind, value, &mut wrong));
            nodes.extend(found.collect::<Vec<_>>());
        }
    }
    let links = match top.take("link") {
        None => Vec::new(),
        Some(Value::Array(values)) => values,
        Some(_) => {
            wrong.add("link", "expected [[link]], with two brackets: there may be many");
            Vec::new()
        }
    };
    top.reject_unknown(&mut wrong);
    if !nodes.iter().any(|node| node.kind == NodeKind::Host) {
        wrong.add("the file", "no host; write [host.NAME] for each");
    }
    for (count, most, what) in [(nodes.len(), NODES, "nodes"), (links.len(), LINKS, "links")] {
        if count > most {
            wrong.add("the file", format!("{count} {what}; at most {most}"));
        }
    }
    let mut seen = BTreeSet::new();
    for node in nodes.iter().filter(|node| !seen.insert(&node.name)) {
        wrong.add(&node_place(node), "another node has this name");
    }
    let mut plan = TopologyPlan { name, nodes, links: Vec::new() };
    for (number, value) in (1..).zip(links) {
        let place = format!("link {number}");
        let written = link::parse_link(&place, value, &mut wrong);
        if let Some(cord) = parse_link(&place, written, &plan, &mut wrong) {
            plan.links.push(cord);
        }
    }
    check_links(&plan, &mut wrong);
    if wrong.0.is_empty() { Ok(plan) } else { Err(TopologyFileError::Mistakes(wrong)) }
}

const NAME: &str = "a name of letters, digits and `-`, at most 24 characters";

fn is_name(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    plain && (1..=24).contains(&name.len()) && !name.starts_with('-')
}

fn node_place(node: &TopologyNode) -> String {
    format!("{} {}", node.kind.keyword(), node.name)
}

fn parse_node(name: String, kind: NodeKind, value: Value, wrong: &mut Mistakes) -> TopologyNode {
    let at = format!("{} {name}", kind.keyword());
    if !is_name(&name) {
        wrong.add(&at, format!("expected {NAME}"));
    }
    let mut section = FileSection::from_value(&at, value, wrong);
    let mut node =
        TopologyNode { name, kind, gateways: Vec::new(), routes: Vec::new(), settings: Vec::new() };
    if kind == NodeKind::Bridge {
        section.reject_unknown(wrong);
        return node;
    }
    for text in section.texts("gateway", wrong) {
        match text.parse::<IpAddr>() {
            Ok(found) if node.gateways.iter().any(|other| other.is_ipv4() == found.is_ipv4()) => {
                wrong.add(
                    &section.key_path("gateway"),
                    format!("`{found}` is the second of its family"),
                );
            }
            Ok(found) => node.gateways.push(found),
            Err(_) => {
                let text = format!("found `{text}`, expected an address such as 10.0.1.1");
                wrong.add(&section.key_path("gateway"), text);
            }
        }
    }
    let at = section.key_path("routes");
    for (to, via) in parse_named_texts(&mut section, "routes", wrong) {
        match (to.parse::<InterfaceAddress>(), via.parse::<IpAddr>()) {
            (Ok(network), Ok(next_hop)) if network.address.is_ipv4() == next_hop.is_ipv4() => {
                node.routes.push(TopologyRoute { network, next_hop })
            }
            _ => {
                let text = "expected a network and whom to send to, of one family: \"10.9.0.0/16\" = \"10.0.1.7\"";
                wrong.add(&at, format!("found `{to}` = `{via}`, {text}"));
            }
        }
    }
    let at = section.key_path("set");
    for (path, value) in parse_named_texts(&mut section, "set", wrong) {
        // Only `net/` settings belong to the namespace; others would change the machine.
        let own = path.starts_with("net/")
            && !path.split('/').any(|part| part == ".." || part.is_empty());
        if own {
            node.settings.push(TopologySetting { path, value });
        } else {
            let text = format!(
                "found `{path}`, expected a setting of the network, such as net/ipv4/tcp_rmem"
            );
            wrong.add(&at, text);
        }
    }
    section.reject_unknown(wrong);
    node
}

/// A table whose values are texts.
fn parse_named_texts(
    section: &mut FileSection,
    key: &'static str,
    wrong: &mut Mistakes,
) -> BTreeMap<String, String> {
    let at = section.key_path(key);
    let mut found = BTreeMap::new();
    let Some(value) = section.take(key) else { return found };
    for (name, value) in FileSection::from_value(&at, value, wrong).remaining() {
        let text = match value {
            Value::String(text) => text,
            Value::Integer(number) => number.to_string(),
            _ => {
                wrong.add(&at, format!("`{name}`: expected a text in quotes"));
                continue;
            }
        };
        found.insert(name, text);
    }
    found
}

fn parse_link(
    at: &str,
    written: LinkDefinition,
    plan: &TopologyPlan,
    wrong: &mut Mistakes,
) -> Option<TopologyLink> {
    let mut ends = Vec::new();
    for (end, addresses) in written.ends.into_iter().zip(written.addresses) {
        let WrittenLinkEnd { node: name, interface } = end;
        let Some(node) = plan.nodes.iter().position(|node| node.name == name) else {
            let known = plan.nodes.iter().map(|node| node.name.as_str());
            let meant = match nearest_match(&name, known.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are: {}", known.collect::<Vec<_>>().join(", ")),
            };
            wrong.add(at, format!("no node is called `{name}`; {meant}"));
            continue;
        };
        let earlier = plan.links.iter().flat_map(|cord| &cord.ends).chain(&ends);
        let used_ends: Vec<&TopologyLinkEnd> = earlier.filter(|end| end.node == node).collect();
        let free = || {
            (0..)
                .map(|n| format!("eth{n}"))
                .find(|n| used_ends.iter().all(|end| end.interface != *n))
        };
        let Some(interface) = interface.or_else(free) else { continue };
        let plain = |c: char| c.is_ascii_graphic() && c != '/' && c != ':';
        if !(1..=15).contains(&interface.len())
            || !interface.chars().all(plain)
            || interface == "lo"
        {
            let text = "expected at most 15 visible characters, not `lo`";
            wrong.add(at, format!("`{interface}` is no interface; {text}"));
        }
        if used_ends.iter().any(|end| end.interface == interface) {
            wrong.add(
                at,
                format!(
                    "{name} has another link at `{interface}`; leave it out, or take another name"
                ),
            );
        }
        if plan.nodes[node].kind == NodeKind::Bridge && !addresses.is_empty() {
            wrong.add(at, format!("{name} is a bridge and has no address; give [] for its end"));
        }
        ends.push(TopologyLinkEnd { node, interface, addresses });
    }
    let ends: [TopologyLinkEnd; 2] = ends.try_into().ok()?;
    if ends[0].node == ends[1].node {
        wrong.add(at, "both ends are the same node");
    }
    check_common_network(at, &ends, wrong);
    Some(TopologyLink { ends, mtu: written.mtu, shapes: written.shapes })
}

/// Adds a mistake when both ends have addresses of a family but no common network.
fn check_common_network(at: &str, ends: &[TopologyLinkEnd; 2], wrong: &mut Mistakes) {
    for v4 in [true, false] {
        let of = |end: &TopologyLinkEnd| -> Vec<InterfaceAddress> {
            end.addresses.iter().copied().filter(|net| net.address.is_ipv4() == v4).collect()
        };
        let first = of(&ends[0]);
        let second = of(&ends[1]);
        let meet =
            first.iter().any(|a| second.iter().any(|b| a.holds(b.address) && b.holds(a.address)));
        if let (Some(a), Some(b), false) = (first.first(), second.first(), meet) {
            wrong.add(
                at,
                format!("{a} and {b} are on different networks: the ends do not reach each other"),
            );
        }
    }
}

/// Checks across several links.
fn check_links(plan: &TopologyPlan, wrong: &mut Mistakes) {
    let mut owners: BTreeMap<IpAddr, &str> = BTreeMap::new();
    for end in plan.links.iter().flat_map(|cord| &cord.ends) {
        let name = plan.nodes[end.node].name.as_str();
        for net in &end.addresses {
            if let Some(owner) = owners.insert(net.address, name) {
                wrong.add(name, format!("{} has the address {} as well", owner, net.address));
            }
        }
    }
    for (number, node) in plan.nodes.iter().enumerate() {
        let ends = plan.links.iter().flat_map(|cord| &cord.ends).filter(|end| end.node == number);
        let nets: Vec<InterfaceAddress> = ends.flat_map(|end| end.addresses.clone()).collect();
        let hops = node.gateways.iter().chain(node.routes.iter().map(|route| &route.next_hop));
        for hop in hops.filter(|hop| !nets.iter().any(|net| net.holds(**hop))) {
            let has = nets.iter().map(InterfaceAddress::to_string).collect::<Vec<_>>().join(", ");
            let has = if has.is_empty() { "no address".to_owned() } else { has };
            let text = format!("{hop} is on none of its networks; it has {has}");
            wrong.add(&node_place(node), text);
        }
        if plan.links.iter().flat_map(|cord| &cord.ends).all(|end| end.node != number) {
            wrong.add(&node_place(node), "no link leads to it");
        }
    }
}

#[cfg(test)]
mod tests;
