//! The plan of a network: plain, checked data.

use std::net::IpAddr;

use serde::Serialize;

use super::net::InterfaceAddress;
use crate::link_emulation::{LinkFault, LinkShape};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyPlan {
    pub name: String,
    /// Nodes, ordered by kind and then by name.
    pub nodes: Vec<TopologyNode>,
    pub links: Vec<TopologyLink>,
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Runs programs.
    Host,
    /// Runs programs and forwards packets.
    Router,
    /// Bridges frames and has no address.
    Bridge,
}

/// A network that a node reaches through another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopologyRoute {
    pub network: InterfaceAddress,
    pub next_hop: IpAddr,
}

/// A kernel setting of a node's namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologySetting {
    /// Its path below /proc/sys.
    pub path: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyNode {
    pub name: String,
    pub kind: NodeKind,
    /// Default gateways, at most one of each family.
    pub gateways: Vec<IpAddr>,
    pub routes: Vec<TopologyRoute>,
    pub settings: Vec<TopologySetting>,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyLink {
    pub ends: [TopologyLinkEnd; 2],
    /// The largest packet, bytes.
    pub mtu: u32,
    /// The shapes for packets of the first and of the second end.
    pub shapes: [LinkShape; 2],
}

/// An end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyLinkEnd {
    /// Index of the node in the plan.
    pub node: usize,
    pub interface: String,
    pub addresses: Vec<InterfaceAddress>,
}

impl NodeKind {
    /// The key in a network's file.
    pub fn keyword(self) -> &'static str {
        match self {
            NodeKind::Host => "host",
            NodeKind::Router => "router",
            NodeKind::Bridge => "bridge",
        }
    }
}

impl TopologyLink {
    /// Whether the link changes no packets; such a link needs no forwarder.
    pub fn is_plain(&self) -> bool {
        self.shapes.iter().all(|shape| *shape == LinkShape::default())
    }
}

impl TopologyPlan {
    /// A link as text: `client:eth0 — edge:eth0, 65ms, 200Mbit/s`.
    pub fn describe_link(&self, cord: &TopologyLink) -> String {
        let end =
            |end: &TopologyLinkEnd| format!("{}:{}", self.nodes[end.node].name, end.interface);
        let [first, second] = &cord.ends;
        let [there, back] = cord.shapes.each_ref().map(describe_shape);
        let words = match (there == back, there.is_empty() && back.is_empty()) {
            (_, true) => String::new(),
            (true, _) => format!(", {there}"),
            (false, _) => {
                format!(", there {}, back {}", text_or_plain(&there), text_or_plain(&back))
            }
        };
        format!("{} — {}{words}", end(first), end(second))
    }
}

fn text_or_plain(words: &str) -> &str {
    if words.is_empty() { "plain" } else { words }
}

/// A shape as text.
fn describe_shape(shape: &LinkShape) -> String {
    use model::config::unit::{BitsPerSecond, ByteSize, Percentage, Time};
    let mut words = Vec::new();
    let share = |ppm: u32| Percentage(u64::from(ppm));
    if !shape.delay.is_zero() {
        words.push(Time(shape.delay).to_string());
    }
    if shape.bits_per_second > 0 {
        words.push(BitsPerSecond(shape.bits_per_second).to_string());
    }
    if shape.queue_bytes > 0 {
        words.push(format!("queue {}", ByteSize(shape.queue_bytes)));
    }
    for (ppm, what) in [
        (shape.loss_ppm, "lost"),
        (shape.reorder_ppm, "overtaken"),
        (shape.duplicate_ppm, "doubled"),
    ] {
        if ppm > 0 {
            words.push(format!("{} {what}", share(ppm)));
        }
    }
    match shape.fault {
        LinkFault::None => {}
        LinkFault::WindowScale => words.push("window scale broken".to_owned()),
        LinkFault::BlackHole(bytes) => words.push(format!("more than {bytes} B vanish")),
    }
    words.join(", ")
}
