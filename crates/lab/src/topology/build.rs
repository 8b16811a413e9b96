//! Builds a planned network from namespaces, cables and emulated links. It starts no program.

use thiserror::Error;

use super::plan::{NodeKind, TopologyLink, TopologyNode, TopologyPlan, TopologyRoute};
use crate::link_emulation::{EmulatedLinkError, ForwarderHandle, LinkSettings};
use crate::net::{
    ChecksumMode, FORWARDING, HOST, NamespaceError, NetworkNamespace, SysctlSetting, ToolError,
    VethEnd as CableEnd, VethError, create_veth,
};

/// Why a network could not be built.
#[derive(Debug, Error)]
pub enum TopologyBuildError {
    /// A namespace, or a setting in it, failed.
    #[error("{node}")]
    Node {
        node: String,
        #[source]
        source: NamespaceError,
    },
    /// An address or a route failed.
    #[error("{node} could not be given its addresses and routes")]
    Tool {
        node: String,
        #[source]
        source: ToolError,
    },
    /// A plain link failed.
    #[error("link {number}")]
    Cable {
        /// The link's number, counted from 1.
        number: usize,
        #[source]
        source: VethError,
    },
    /// An emulated link failed.
    #[error("link {number}")]
    Line {
        /// The link's number, counted from 1.
        number: usize,
        #[source]
        source: EmulatedLinkError,
    },
}

/// A running network; dropping it removes everything.
#[derive(Debug)]
pub struct RunningTopology {
    // Must drop before the namespaces that the links are in.
    _wires: Vec<ForwarderHandle>,
    /// Nodes, as in the plan.
    pub nodes: Vec<NetworkNamespace>,
    _between: Option<NetworkNamespace>,
}

/// The bridge's interface in its namespace.
const BRIDGE: &str = "bridge";

pub fn build_topology(plan: &TopologyPlan) -> Result<RunningTopology, TopologyBuildError> {
    let nodes = plan.nodes.iter().map(create_node).collect::<Result<Vec<_>, _>>()?;
    let shaped = plan.links.iter().any(|cord| !cord.is_plain());
    let between = shaped.then(|| NetworkNamespace::new("lines")).transpose();
    let between =
        between.map_err(|source| TopologyBuildError::Node { node: "lines".to_owned(), source })?;
    let mut standing = RunningTopology { _wires: Vec::new(), nodes, _between: between };
    for (number, cord) in (1..).zip(&plan.links) {
        if let Some(wire) = connect_nodes(&standing, cord, number)? {
            standing._wires.push(wire);
        }
        for end in &cord.ends {
            let is_bridge = plan.nodes[end.node].kind == NodeKind::Bridge;
            let mut lines = String::new();
            for net in &end.addresses {
                let nodad = if net.address.is_ipv6() { " nodad" } else { "" };
                lines += &format!("addr add {net} dev {}{nodad}\n", end.interface);
            }
            if is_bridge {
                lines += &format!("link set {} master {BRIDGE}\n", end.interface);
            }
            assign_addresses(plan, &standing, end.node, &lines)?;
        }
    }
    for (number, node) in plan.nodes.iter().enumerate() {
        let mut lines = String::new();
        for gateway in &node.gateways {
            let to = if gateway.is_ipv6() { "::/0" } else { "default" };
            lines += &format!("route add {to} via {gateway}\n");
        }
        for TopologyRoute { network, next_hop } in &node.routes {
            lines += &format!("route add {network} via {next_hop}\n");
        }
        assign_addresses(plan, &standing, number, &lines)?;
    }
    Ok(standing)
}

fn assign_addresses(
    plan: &TopologyPlan,
    standing: &RunningTopology,
    number: usize,
    lines: &str,
) -> Result<(), TopologyBuildError> {
    if lines.is_empty() {
        return Ok(());
    }
    let done = standing.nodes[number].ip(lines);
    done.map(drop).map_err(|source| TopologyBuildError::Tool {
        node: plan.nodes[number].name.clone(),
        source,
    })
}

fn create_node(node: &TopologyNode) -> Result<NetworkNamespace, TopologyBuildError> {
    let failed = |source| TopologyBuildError::Node { node: node.name.clone(), source };
    let namespace = NetworkNamespace::new(&node.name).map_err(failed)?;
    namespace.write_sysctls(&HOST).map_err(failed)?;
    if node.kind == NodeKind::Router {
        namespace.write_sysctls(&FORWARDING).map_err(failed)?;
    }
    if node.kind == NodeKind::Bridge {
        let lines =
            format!("link add {BRIDGE} type bridge forward_delay 0\nlink set {BRIDGE} up\n");
        let made = namespace.ip(&lines);
        made.map_err(|source| TopologyBuildError::Tool { node: node.name.clone(), source })?;
    }
    let settings: Vec<SysctlSetting<'_>> = node
        .settings
        .iter()
        .map(|set| SysctlSetting { path: &set.path, value: &set.value })
        .collect();
    namespace.write_sysctls(&settings).map_err(failed)?;
    Ok(namespace)
}

fn connect_nodes(
    standing: &RunningTopology,
    cord: &TopologyLink,
    number: usize,
) -> Result<Option<ForwarderHandle>, TopologyBuildError> {
    let [first, second] = &cord.ends;
    let hosts = [first, second]
        .map(|end| CableEnd { namespace: &standing.nodes[end.node], link: &end.interface });
    let Some(between) = standing._between.as_ref().filter(|_| !cord.is_plain()) else {
        let [a, b] = hosts;
        let laid = create_veth(a, b, cord.mtu, ChecksumMode::Offloaded);
        return laid.map(|()| None).map_err(|source| TopologyBuildError::Cable { number, source });
    };
    let names = [format!("a{number}"), format!("b{number}")];
    let course = LinkSettings { mtu: cord.mtu, ..LinkSettings::new(cord.shapes.clone()) };
    let wire =
        ForwarderHandle::connect(hosts, between, names.each_ref().map(String::as_str), course);
    wire.map(Some).map_err(|source| TopologyBuildError::Line { number, source })
}
