//! What a network is to be: plain data, checked.

use std::net::IpAddr;

use serde::Serialize;

use super::net::InterfaceAddress;
use crate::link_emulation::{LinkFault, LinkShape};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyPlan {
    /// What it is called.
    pub name: String,
    /// Who is in it, in the order of their names by kind.
    pub nodes: Vec<TopologyNode>,
    pub links: Vec<TopologyLink>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Programs run on it.
    Host,
    /// It forwards packets, too.
    Router,
    /// It passes frames and has no address.
    Bridge,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyNode {
    pub name: String,
    pub kind: NodeKind,
    /// Where it sends what is on none of its networks: one of each family at most.
    pub gateways: Vec<IpAddr>,
    /// What it sends elsewhere, and through whom.
    pub routes: Vec<(InterfaceAddress, IpAddr)>,
    /// Kernel settings below /proc/sys, by their paths.
    pub settings: Vec<(String, String)>,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyLink {
    pub ends: [TopologyLinkEnd; 2],
    /// The largest packet, bytes.
    pub mtu: u32,
    /// What packets of the first and of the second end meet.
    pub shapes: [LinkShape; 2],
}

/// An end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyLinkEnd {
    /// Which node, by its place in the plan.
    pub node: usize,
    pub interface: String,
    pub addresses: Vec<InterfaceAddress>,
}

impl NodeKind {
    /// As files say it.
    pub fn keyword(self) -> &'static str {
        match self {
            NodeKind::Host => "host",
            NodeKind::Router => "router",
            NodeKind::Bridge => "bridge",
        }
    }
}

impl TopologyLink {
    /// Whether nothing happens to packets: such a link is the kernel's alone.
    pub fn is_plain(&self) -> bool {
        self.shapes.iter().all(|shape| *shape == LinkShape::default())
    }
}

impl TopologyPlan {
    /// A link in words: `client:eth0 — edge:eth0, 65ms, 200Mbit/s`.
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

/// What packets meet, in words.
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
