//! Makes a planned network out of namespaces, cables and lines. It runs nothing in it.

use thiserror::Error;

use super::plan::{Cord, Kind, Node, Plan};
use crate::line::{Course, LineError, Wire};
use crate::net::{
    Checksums, End as CableEnd, FORWARDING, HOST, LinkError, Namespace, NamespaceError, ToolError,
    lay,
};

/// Why it could not be made.
#[derive(Debug, Error)]
pub enum BuildError {
    /// A namespace or a setting in it.
    #[error("{node}")]
    Node {
        /// Of which node.
        node: String,
        /// Why.
        #[source]
        source: NamespaceError,
    },
    /// An address or a route.
    #[error("{node} could not be given its addresses and routes")]
    Tool {
        /// Which node.
        node: String,
        /// Why.
        #[source]
        source: ToolError,
    },
    /// A link whose packets meet nothing.
    #[error("link {number}")]
    Cable {
        /// Which, from 1.
        number: usize,
        /// Why.
        #[source]
        source: LinkError,
    },
    /// A link whose packets meet something.
    #[error("link {number}")]
    Line {
        /// Which, from 1.
        number: usize,
        /// Why.
        #[source]
        source: LineError,
    },
}

/// A network that stands; gone when dropped.
#[derive(Debug)]
pub struct Standing {
    // Before what they are laid through, which goes after them.
    _wires: Vec<Wire>,
    /// Nodes, as in the plan.
    pub nodes: Vec<Namespace>,
    _between: Option<Namespace>,
}

/// The device of a bridge, in its namespace.
const BRIDGE: &str = "bridge";

/// Builds it.
pub fn build(plan: &Plan) -> Result<Standing, BuildError> {
    let nodes = plan.nodes.iter().map(node).collect::<Result<Vec<_>, _>>()?;
    let shaped = plan.cords.iter().any(|cord| !cord.is_plain());
    let between = shaped.then(|| Namespace::new("lines")).transpose();
    let between =
        between.map_err(|source| BuildError::Node { node: "lines".to_owned(), source })?;
    let mut standing = Standing { _wires: Vec::new(), nodes, _between: between };
    for (number, cord) in (1..).zip(&plan.cords) {
        if let Some(wire) = connect(&standing, cord, number)? {
            standing._wires.push(wire);
        }
        for end in &cord.ends {
            let is_bridge = plan.nodes[end.node].kind == Kind::Bridge;
            let mut lines = String::new();
            for net in &end.addresses {
                let nodad = if net.address.is_ipv6() { " nodad" } else { "" };
                lines += &format!("addr add {net} dev {}{nodad}\n", end.interface);
            }
            if is_bridge {
                lines += &format!("link set {} master {BRIDGE}\n", end.interface);
            }
            address(plan, &standing, end.node, &lines)?;
        }
    }
    for (number, node) in plan.nodes.iter().enumerate() {
        let mut lines = String::new();
        for gateway in &node.gateways {
            let to = if gateway.is_ipv6() { "::/0" } else { "default" };
            lines += &format!("route add {to} via {gateway}\n");
        }
        for (to, via) in &node.routes {
            lines += &format!("route add {to} via {via}\n");
        }
        address(plan, &standing, number, &lines)?;
    }
    Ok(standing)
}

fn address(plan: &Plan, standing: &Standing, number: usize, lines: &str) -> Result<(), BuildError> {
    if lines.is_empty() {
        return Ok(());
    }
    let done = standing.nodes[number].ip(lines);
    done.map(drop)
        .map_err(|source| BuildError::Tool { node: plan.nodes[number].name.clone(), source })
}

fn node(node: &Node) -> Result<Namespace, BuildError> {
    let failed = |source| BuildError::Node { node: node.name.clone(), source };
    let namespace = Namespace::new(&node.name).map_err(failed)?;
    namespace.set(&HOST).map_err(failed)?;
    if node.kind == Kind::Router {
        namespace.set(&FORWARDING).map_err(failed)?;
    }
    if node.kind == Kind::Bridge {
        let lines =
            format!("link add {BRIDGE} type bridge forward_delay 0\nlink set {BRIDGE} up\n");
        let made = namespace.ip(&lines);
        made.map_err(|source| BuildError::Tool { node: node.name.clone(), source })?;
    }
    let settings: Vec<(&str, &str)> =
        node.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    namespace.set(&settings).map_err(failed)?;
    Ok(namespace)
}

fn connect(standing: &Standing, cord: &Cord, number: usize) -> Result<Option<Wire>, BuildError> {
    let [first, second] = &cord.ends;
    let hosts = [first, second].map(|end| (&standing.nodes[end.node], end.interface.as_str()));
    let Some(between) = standing._between.as_ref().filter(|_| !cord.is_plain()) else {
        let [a, b] = hosts.map(|(namespace, link)| CableEnd { namespace, link });
        let laid = lay(a, b, cord.mtu, Checksums::Offloaded);
        return laid.map(|()| None).map_err(|source| BuildError::Cable { number, source });
    };
    let names = [format!("a{number}"), format!("b{number}")];
    let course = Course { mtu: cord.mtu, ..Course::new(cord.shapes.clone()) };
    let wire = Wire::lay(hosts, between, names.each_ref().map(String::as_str), course);
    wire.map(Some).map_err(|source| BuildError::Line { number, source })
}
