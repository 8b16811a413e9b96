//! A machine as steering sees it: processors, interfaces, their queues and interrupts, and where work may go now.
//!
//! It reads texts, no files; what it cannot read is left out.

use std::collections::BTreeMap;

use super::count::Load;
use super::mask::Mask;

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// Processors that are on.
    pub processors: Vec<Processor>,
    /// Interfaces that receive.
    pub interfaces: Vec<Interface>,
    /// `net.core.rps_sock_flow_entries`: flows that RFS knows, of all interfaces. `None`: it cannot be had here, as in a
    /// container.
    pub socket_flows: Option<u64>,
    /// irqbalance(1) runs: it moves interrupts by itself.
    pub irqbalance: bool,
}

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Its number.
    pub number: u32,
    /// Its memory's node.
    pub node: u32,
    /// The lowest number among the threads of its core.
    pub core: u32,
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The node that its device is near to.
    pub node: Option<u32>,
    /// Receive queues in their order.
    pub receive: Vec<Receive>,
    /// For each send queue the processors that send by it (XPS). `None`: the kernel does not offer it here.
    pub send: Vec<Option<Mask>>,
    /// Interrupts of its queues, by number.
    pub interrupts: BTreeMap<u32, Interrupt>,
    /// How many queues it has and may have, from `ethtool -l`; `None`: not known, or nothing of a device's own.
    pub channels: Option<Channels>,
    /// How many places of the device's table lead to each queue, from `ethtool -x`; empty: not known.
    pub spread: Vec<u32>,
    /// A program of XDP runs on it: in the driver's or in the generic way.
    pub xdp: Option<Xdp>,
}

/// Where a program of XDP runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Xdp {
    /// In the driver: before RPS, which it never sees.
    Driver,
    /// In the stack, after RPS.
    Generic,
}

/// A receive queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receive {
    /// Processors that packets of this queue are handed to (RPS); empty: none, it is off.
    pub processors: Mask,
    /// Flows that RFS knows of this queue; 0: it is off.
    pub flows: u64,
}

/// An interrupt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// Its name in /proc/interrupts.
    pub name: String,
    /// Where it may go.
    pub processors: Mask,
}

/// Queues of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Each both sends and receives; else they are set apart, and these are those that receive.
    pub combined: bool,
    /// Now.
    pub now: u32,
    /// At most.
    pub most: u32,
}

impl Picture {
    /// The same with those interfaces alone that a load came by. Without a load worth the name all of them: then it is being
    /// prepared for one.
    pub fn loaded(&self, load: &Load) -> Picture {
        let took = |one: &&Interface| !load.is_idle(&one.name);
        let interfaces = self.interfaces.iter().filter(took).cloned().collect();
        Picture { interfaces, ..self.clone() }
    }

    /// Processors in the order in which work is given out: near ones first, one thread of each core before any second.
    pub fn order(&self, node: Option<u32>) -> Vec<u32> {
        let mut all: Vec<&Processor> = self.processors.iter().collect();
        all.sort_by_key(|one| {
            let far = node.is_some_and(|node| node != one.node);
            (far, one.number != one.core, one.number)
        });
        all.into_iter().map(|one| one.number).collect()
    }

    /// Processors of a node; all where the node is not known or has none.
    pub fn near(&self, node: Option<u32>) -> Mask {
        let of = |one: &&Processor| node.is_none_or(|node| node == one.node);
        let near: Mask = self.processors.iter().filter(of).map(|one| one.number).collect();
        if near.is_empty() { self.all() } else { near }
    }

    /// All processors.
    pub fn all(&self) -> Mask {
        self.processors.iter().map(|one| one.number).collect()
    }
}

/// What `ethtool -l` says of queues that both send and receive; else of those that receive.
pub fn channels(text: &str) -> Option<Channels> {
    let (most, now) = text.split_once("Current hardware settings")?;
    let count = |part: &str, name: &str| -> Option<u32> {
        let line = part.lines().find_map(|line| line.trim().strip_prefix(name))?;
        line.trim_start_matches(':').trim().parse().ok()
    };
    let of = |name: &str, combined| {
        let most = count(most, name).filter(|most| *most > 0)?;
        Some(Channels { combined, now: count(now, name)?, most })
    };
    of("Combined", true).or_else(|| of("RX", false))
}

/// How often each queue stands in the table of `ethtool -x`; empty where it prints none.
pub fn spread(text: &str) -> Vec<u32> {
    let mut out: Vec<u32> = Vec::new();
    let rows = text.lines().filter_map(|line| line.trim().split_once(':'));
    for (at, queues) in rows {
        if at.is_empty() || !at.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        for queue in queues.split_whitespace().filter_map(|word| word.parse::<usize>().ok()) {
            // No device has more queues than processors that a mask can hold.
            if queue >= 8_192 {
                continue;
            }
            if out.len() <= queue {
                out.resize(queue + 1, 0);
            }
            out[queue] += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_processors_and_first_threads_come_first() {
        let one = |number, node, core| Processor { number, node, core };
        let picture = Picture {
            processors: vec![one(0, 0, 0), one(1, 1, 1), one(2, 0, 0), one(3, 1, 1)],
            ..Picture::default()
        };
        assert_eq!(picture.order(Some(1)), [1, 3, 0, 2]);
        assert_eq!(picture.order(None), [0, 1, 2, 3]);
        assert_eq!(picture.near(Some(1)).to_string(), "1,3");
        assert_eq!(picture.near(Some(7)).to_string(), "0-3", "a node without processors");
    }

    #[test]
    fn ethtool_is_read() {
        let text = "Channel parameters for eth0:\nPre-set maximums:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\t1\n\
                    Combined:\t8\nCurrent hardware settings:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\t1\nCombined:\t2\n";
        assert_eq!(channels(text), Some(Channels { combined: true, now: 2, most: 8 }));
        let apart = "Pre-set maximums:\nRX:\t4\nTX:\t4\nCombined:\t0\nCurrent hardware settings:\nRX:\t1\nTX:\t1\n\
                     Combined:\t0\n";
        assert_eq!(channels(apart), Some(Channels { combined: false, now: 1, most: 4 }));
        assert_eq!(channels("netlink error: Operation not supported\n"), None);
        let table = "RX flow hash indirection table for eth0 with 2 RX ring(s):\n    0:      0     1     0     1\n\
                     \x20   4:      0     0     0     0\nRSS hash key:\n6d:5a:56\nRSS hash function:\n    toeplitz: on\n";
        assert_eq!(spread(table), [6, 2]);
        assert!(spread("Cannot get RX ring count: Operation not supported\n").is_empty());
    }
}
