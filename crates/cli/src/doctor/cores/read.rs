//! Reads the facts of this machine that steering needs: /proc, /sys, ip(8) and ethtool(8).
//!
//! It checks nothing. Unreadable facts are left out; only an interface that was named must exist.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::net::{find, run_command};
use links::steering::counters::{self, InterruptCounts, SteeringCounters, queue_number};
use links::steering::cpu_mask::CpuMask;
use links::steering::plan::SOCKET_FLOWS;
use links::steering::snapshot::{
    CpuPlacement, InterfaceQueues, QueueInterrupt, ReceiveQueue, SteeringSnapshot, XdpPlacement,
    parse_channels, parse_indirection_table,
};
use serde::Deserialize;

use crate::outcome::CommandError;

const INTERFACES: &str = "/sys/class/net";
const PROCESSORS: &str = "/sys/devices/system/cpu";

#[derive(Debug)]
pub struct LocalMachine {
    /// As it is now.
    pub state: SteeringSnapshot,
    /// All interfaces of this network namespace.
    interface_names: Vec<String>,
}

impl LocalMachine {
    /// Reads it: these interfaces, or those of devices.
    pub fn open(wanted: &[String]) -> Result<LocalMachine, CommandError> {
        let dir = fs::read_dir(INTERFACES).map_err(|error| {
            CommandError::Unusable(format!("cannot read {INTERFACES}: {error}"))
        })?;
        let mut there: Vec<String> =
            dir.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        there.sort();
        if let Some(absent) = wanted.iter().find(|name| !there.contains(name)) {
            let there = there.join(", ");
            return Err(CommandError::Unusable(format!(
                "no interface `{absent}` is here; there are: {there}"
            )));
        }
        let chosen = |name: &&String| {
            if wanted.is_empty() {
                device_path(name, "device").exists()
            } else {
                wanted.contains(name)
            }
        };
        let interrupts = counters::parse_interrupts(&read_text("/proc/interrupts"));
        let programs = xdp_programs();
        let interfaces = there.iter().filter(chosen).map(|name| InterfaceQueues {
            xdp: programs.get(name).copied(),
            ..read_interface(name, &interrupts)
        });
        let snapshot = SteeringSnapshot {
            interfaces: interfaces.collect(),
            processors: read_processors(),
            socket_flows: read_text(SOCKET_FLOWS).trim().parse().ok(),
            irqbalance: is_running("irqbalance"),
        };
        Ok(LocalMachine { state: snapshot, interface_names: there })
    }

    pub fn counters(&self) -> SteeringCounters {
        let ours = |number: &u32| {
            self.state.interfaces.iter().any(|one| one.interrupts.contains_key(number))
        };
        let interrupts = counters::parse_interrupts(&read_text("/proc/interrupts")).into_iter();
        let queues = self.state.interfaces.iter();
        SteeringCounters {
            softnet: counters::parse_softnet(&read_text("/proc/net/softnet_stat")),
            interrupts: interrupts
                .filter(|(number, _)| ours(number))
                .map(|(number, one)| (number, one.received))
                .collect(),
            queues: queues
                .map(|one| (one.name.clone(), counters::parse_queues(&ethtool("-S", &one.name))))
                .filter(|(_, counts)| !counts.is_empty())
                .collect(),
            received: self
                .interface_names
                .iter()
                .filter_map(|name| received_packets(name))
                .collect(),
        }
    }
}

/// How many packets an interface has received.
fn received_packets(name: &str) -> Option<(String, u64)> {
    let count = fs::read_to_string(device_path(name, "statistics/rx_packets")).ok()?;
    Some((name.to_owned(), count.trim().parse().ok()?))
}

fn read_interface(name: &str, all: &BTreeMap<u32, InterruptCounts>) -> InterfaceQueues {
    let queue = |kind: &str, number: usize, entry: &str| {
        fs::read_to_string(device_path(name, &format!("queues/{kind}-{number}/{entry}"))).ok()
    };
    let count = |kind: &str| {
        (0..).take_while(|at| device_path(name, &format!("queues/{kind}-{at}")).exists()).count()
    };
    let receive = (0..count("rx")).map(|at| ReceiveQueue {
        processors: queue("rx", at, "rps_cpus")
            .and_then(|text| CpuMask::from_hex(&text).ok())
            .unwrap_or_default(),
        flows: queue("rx", at, "rps_flow_cnt")
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0),
    });
    let send = (0..count("tx"))
        .map(|at| queue("tx", at, "xps_cpus").and_then(|text| CpuMask::from_hex(&text).ok()));
    let interrupts = device_interrupts(name).into_iter().filter_map(|number| {
        let InterruptCounts { name, .. } = all.get(&number)?;
        queue_number(name)?;
        let list = read_text(&format!("/proc/irq/{number}/smp_affinity_list"));
        let processors = CpuMask::from_list(&list).ok()?;
        Some((number, QueueInterrupt { name: name.clone(), processors }))
    });
    let node = fs::read_to_string(device_path(name, "device/numa_node")).ok();
    let is_device = device_path(name, "device").exists();
    InterfaceQueues {
        name: name.to_owned(),
        // -1 if there is one node, or the firmware reports none.
        node: node.and_then(|text| text.trim().parse().ok()),
        receive: receive.collect(),
        send: send.collect(),
        interrupts: interrupts.collect(),
        // Queues of virtual interfaces are filled by senders: more of them spread nothing.
        channels: is_device.then(|| parse_channels(&ethtool("-l", name))).flatten(),
        spread: parse_indirection_table(&ethtool("-x", name)),
        xdp: None,
    }
}

/// Interrupts of an interface's device, or of the device that carries it (virtio's does).
fn device_interrupts(name: &str) -> Vec<u32> {
    let Ok(device) = device_path(name, "device").canonicalize() else { return Vec::new() };
    let of = |dir: &Path| -> Vec<u32> {
        let entries = fs::read_dir(dir.join("msi_irqs")).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let own = of(&device);
    if own.is_empty() { device.parent().map(of).unwrap_or_default() } else { own }
}

fn read_processors() -> Vec<CpuPlacement> {
    let on = CpuMask::from_list(&read_text(&format!("{PROCESSORS}/online"))).unwrap_or_default();
    let one = |number: u32| {
        let dir = format!("{PROCESSORS}/cpu{number}");
        let threads =
            CpuMask::from_list(&read_text(&format!("{dir}/topology/thread_siblings_list")));
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let node = names.find_map(|name| name.strip_prefix("node")?.parse().ok());
        let core = threads.ok().and_then(|threads| threads.iter().next()).unwrap_or(number);
        CpuPlacement { number, node: node.unwrap_or(0), core }
    };
    on.iter().map(one).collect()
}

/// Interfaces with a program of XDP.
fn xdp_programs() -> BTreeMap<String, XdpPlacement> {
    #[derive(Deserialize)]
    struct Link {
        #[serde(default)]
        ifname: String,
        xdp: Option<Program>,
    }
    #[derive(Deserialize)]
    struct Program {
        mode: u8,
    }
    let Ok(text) = run_command(Command::new(find("ip")).args(["-j", "-d", "link", "show"])) else {
        return BTreeMap::new();
    };
    let links: Vec<Link> = serde_json::from_str(&text).unwrap_or_default();
    // IFLA_XDP_ATTACHED of linux/if_link.h: 2 is in the stack, 1 in the driver, 3 in the device.
    let mode = |mode: u8| if mode == 2 { XdpPlacement::Generic } else { XdpPlacement::Driver };
    let named = links.into_iter().filter_map(|link| Some((link.ifname, mode(link.xdp?.mode))));
    named.collect()
}

/// Whether a program of this name runs.
fn is_running(program: &str) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    names.any(|name| name.trim() == program)
}

/// The output of ethtool(8); empty if it is not installed or the driver does not support the option.
fn ethtool(option: &str, interface: &str) -> String {
    run_command(Command::new(find("ethtool")).args([option, interface])).unwrap_or_default()
}

fn device_path(interface: &str, entry: &str) -> PathBuf {
    Path::new(INTERFACES).join(interface).join(entry)
}

fn read_text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
