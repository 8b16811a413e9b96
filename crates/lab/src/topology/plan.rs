//! What a network is to be: plain data, checked.

use std::net::IpAddr;

use serde::Serialize;

use super::net::Net;
use crate::line::{Fault, Shape};

/// A network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What it is called.
    pub name: String,
    /// Who is in it, in the order of their names by kind.
    pub nodes: Vec<Node>,
    /// What connects them.
    pub cords: Vec<Cord>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Programs run on it.
    Host,
    /// It forwards packets, too.
    Router,
    /// It passes frames and has no address.
    Bridge,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Where it sends what is on none of its networks: one of each family at most.
    pub gateways: Vec<IpAddr>,
    /// What it sends elsewhere, and through whom.
    pub routes: Vec<(Net, IpAddr)>,
    /// Kernel settings below /proc/sys, by their paths.
    pub settings: Vec<(String, String)>,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cord {
    /// Both ends.
    pub ends: [End; 2],
    /// The largest packet, bytes.
    pub mtu: u32,
    /// What packets of the first and of the second end meet.
    pub shapes: [Shape; 2],
}

/// An end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Which node, by its place in the plan.
    pub node: usize,
    /// The interface there.
    pub interface: String,
    /// Its addresses.
    pub addresses: Vec<Net>,
}

impl Kind {
    /// As files say it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Host => "host",
            Kind::Router => "router",
            Kind::Bridge => "bridge",
        }
    }
}

impl Cord {
    /// Whether nothing happens to packets: such a link is the kernel's alone.
    pub fn is_plain(&self) -> bool {
        self.shapes.iter().all(|shape| *shape == Shape::default())
    }
}

impl Plan {
    /// A link in words: `client:eth0 — edge:eth0, 65ms, 200Mbit/s`.
    pub fn told(&self, cord: &Cord) -> String {
        let end = |end: &End| format!("{}:{}", self.nodes[end.node].name, end.interface);
        let [first, second] = &cord.ends;
        let [there, back] = cord.shapes.each_ref().map(meets);
        let words = match (there == back, there.is_empty() && back.is_empty()) {
            (_, true) => String::new(),
            (true, _) => format!(", {there}"),
            (false, _) => format!(", there {}, back {}", or_plain(&there), or_plain(&back)),
        };
        format!("{} — {}{words}", end(first), end(second))
    }
}

fn or_plain(words: &str) -> &str {
    if words.is_empty() { "plain" } else { words }
}

/// What packets meet, in words.
fn meets(shape: &Shape) -> String {
    use model::config::unit::{Rate, Share, Size, Time};
    let mut words = Vec::new();
    let share = |ppm: u32| Share(u64::from(ppm));
    if !shape.delay.is_zero() {
        words.push(Time(shape.delay).to_string());
    }
    if shape.bits_per_second > 0 {
        words.push(Rate(shape.bits_per_second).to_string());
    }
    if shape.queue_bytes > 0 {
        words.push(format!("queue {}", Size(shape.queue_bytes)));
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
        Fault::None => {}
        Fault::WindowScale => words.push("window scale broken".to_owned()),
        Fault::BlackHole(bytes) => words.push(format!("more than {bytes} B vanish")),
    }
    words.join(", ")
}
