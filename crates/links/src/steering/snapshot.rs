//! A machine's processors, interfaces, queues and interrupts, and where their work may run now.
//!
//! It reads texts, no files; what it cannot read is left out.

use std::collections::BTreeMap;

use super::counters::NetworkLoad;
use super::cpu_mask::CpuMask;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SteeringSnapshot {
    /// Processors that are online.
    pub processors: Vec<CpuPlacement>,
    pub interfaces: Vec<InterfaceQueues>,
    /// `net.core.rps_sock_flow_entries`: flows in RFS' table of all interfaces. `None`: not available here, as in a
    /// container.
    pub socket_flows: Option<u64>,
    /// irqbalance(1) runs and moves interrupts by itself.
    pub irqbalance: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPlacement {
    pub number: u32,
    pub node: u32,
    /// The lowest number among the threads of the processor's core.
    pub core: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceQueues {
    pub name: String,
    /// The NUMA node of the device.
    pub node: Option<u32>,
    /// Receive queues in their order.
    pub receive: Vec<ReceiveQueue>,
    /// The processors that send by each send queue (XPS). `None`: the kernel does not offer it here.
    pub send: Vec<Option<CpuMask>>,
    /// Interrupts of the queues, by number.
    pub interrupts: BTreeMap<u32, QueueInterrupt>,
    /// The current and possible number of queues, from `ethtool -l`; `None`: not known, or a virtual device.
    pub channels: Option<DeviceChannels>,
    /// How many places of the device's table lead to each queue, from `ethtool -x`; empty: not known.
    pub spread: Vec<u32>,
    /// Where an XDP program runs on the interface.
    pub xdp: Option<XdpPlacement>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpPlacement {
    /// In the driver: before RPS, which does not apply to it.
    Driver,
    Generic,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveQueue {
    /// Processors that get packets of this queue (RPS); empty: RPS is off.
    pub processors: CpuMask,
    /// Flows in the queue's RFS table; 0: RFS is off.
    pub flows: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueInterrupt {
    /// The interrupt's name in /proc/interrupts.
    pub name: String,
    /// The processors that it may go to.
    pub processors: CpuMask,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceChannels {
    /// Each queue both sends and receives; otherwise the numbers count receive queues only.
    pub combined: bool,
    pub now: u32,
    pub maximum: u32,
}

impl SteeringSnapshot {
    /// The snapshot with only the interfaces that received the load. With a negligible load it has all of them, to
    /// prepare the machine.
    pub fn loaded_interfaces(&self, load: &NetworkLoad) -> SteeringSnapshot {
        let took = |one: &&InterfaceQueues| !load.is_idle(&one.name);
        let interfaces = self.interfaces.iter().filter(took).cloned().collect();
        SteeringSnapshot { interfaces, ..self.clone() }
    }

    /// Processors in the order of assignment: near ones first, one thread of each core before any second.
    pub fn processors_by_distance(&self, node: Option<u32>) -> Vec<u32> {
        let mut all: Vec<&CpuPlacement> = self.processors.iter().collect();
        all.sort_by_key(|one| {
            let far = node.is_some_and(|node| node != one.node);
            (far, one.number != one.core, one.number)
        });
        all.into_iter().map(|one| one.number).collect()
    }

    /// Processors of a node; all where the node is unknown or has none.
    pub fn processors_near(&self, node: Option<u32>) -> CpuMask {
        let of = |one: &&CpuPlacement| node.is_none_or(|node| node == one.node);
        let near: CpuMask = self.processors.iter().filter(of).map(|one| one.number).collect();
        if near.is_empty() { self.all_processors() } else { near }
    }

    pub fn all_processors(&self) -> CpuMask {
        self.processors.iter().map(|one| one.number).collect()
    }
}

/// The numbers of combined queues from `ethtool -l`; else of receive queues.
pub fn parse_channels(text: &str) -> Option<DeviceChannels> {
    let (most, now) = text.split_once("Current hardware settings")?;
    let count = |part: &str, name: &str| -> Option<u32> {
        let line = part.lines().find_map(|line| line.trim().strip_prefix(name))?;
        line.trim_start_matches(':').trim().parse().ok()
    };
    let of = |name: &str, combined| {
        let most = count(most, name).filter(|most| *most > 0)?;
        Some(DeviceChannels { combined, now: count(now, name)?, maximum: most })
    };
    of("Combined", true).or_else(|| of("RX", false))
}

/// How often each queue appears in the table of `ethtool -x`. Empty if `ethtool` prints no table.
pub fn parse_indirection_table(text: &str) -> Vec<u32> {
    let mut out: Vec<u32> = Vec::new();
    let rows = text.lines().filter_map(|line| line.trim().split_once(':'));
    for (at, queues) in rows {
        if at.is_empty() || !at.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        for queue in queues.split_whitespace().filter_map(|word| word.parse::<usize>().ok()) {
            // No device has more queues than a mask can hold processors.
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
        let one = |number, node, core| CpuPlacement { number, node, core };
        let snapshot = SteeringSnapshot {
            processors: vec![one(0, 0, 0), one(1, 1, 1), one(2, 0, 0), one(3, 1, 1)],
            ..SteeringSnapshot::default()
        };
        assert_eq!(snapshot.processors_by_distance(Some(1)), [1, 3, 0, 2]);
        assert_eq!(snapshot.processors_by_distance(None), [0, 1, 2, 3]);
        assert_eq!(snapshot.processors_near(Some(1)).to_string(), "1,3");
        assert_eq!(
            snapshot.processors_near(Some(7)).to_string(),
            "0-3",
            "a node without processors"
        );
    }

    #[test]
    fn ethtool_is_read() {
        let text = "Channel parameters for eth0:\nPre-set maximums:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\t1\n\
                    Combined:\t8\nCurrent hardware settings:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\t1\nCombined:\t2\n";
        assert_eq!(
            parse_channels(text),
            Some(DeviceChannels { combined: true, now: 2, maximum: 8 })
        );
        let apart = "Pre-set maximums:\nRX:\t4\nTX:\t4\nCombined:\t0\nCurrent hardware settings:\nRX:\t1\nTX:\t1\n\
                     Combined:\t0\n";
        assert_eq!(
            parse_channels(apart),
            Some(DeviceChannels { combined: false, now: 1, maximum: 4 })
        );
        assert_eq!(parse_channels("netlink error: Operation not supported\n"), None);
        let table = "RX flow hash indirection table for eth0 with 2 RX ring(s):\n    0:      0     1     0     1\n\
                     \x20   4:      0     0     0     0\nRSS hash key:\n6d:5a:56\nRSS hash function:\n    toeplitz: on\n";
        assert_eq!(parse_indirection_table(table), [6, 2]);
        assert!(
            parse_indirection_table("Cannot get RX ring count: Operation not supported\n")
                .is_empty()
        );
    }
}
