//! Reads what steering needs of this machine: /proc, /sys, ip(8) and ethtool(8).
//!
//! It judges nothing. What cannot be read is left out; only an interface that was asked for must be there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::net::{find, said};
use links::steer::count::{self, Counters, queue_of};
use links::steer::mask::Mask;
use links::steer::picture::{
    Interface, Interrupt, Picture, Processor, Receive, Xdp, channels, spread,
};
use links::steer::plan::SOCKET_FLOWS;
use serde::Deserialize;

use crate::end::Failure;

const INTERFACES: &str = "/sys/class/net";
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// This machine.
#[derive(Debug)]
pub struct Machine {
    /// As it is now.
    pub picture: Picture,
    /// All interfaces of this network namespace.
    there: Vec<String>,
}

impl Machine {
    /// Reads it: these interfaces, or those of devices.
    pub fn open(wanted: &[String]) -> Result<Machine, Failure> {
        let dir = fs::read_dir(INTERFACES)
            .map_err(|error| Failure::Unusable(format!("cannot read {INTERFACES}: {error}")))?;
        let mut there: Vec<String> =
            dir.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        there.sort();
        if let Some(absent) = wanted.iter().find(|name| !there.contains(name)) {
            let there = there.join(", ");
            return Err(Failure::Unusable(format!(
                "no interface `{absent}` is here; there are: {there}"
            )));
        }
        let chosen = |name: &&String| {
            if wanted.is_empty() { place(name, "device").exists() } else { wanted.contains(name) }
        };
        let interrupts = count::interrupts(&text("/proc/interrupts"));
        let programs = programs();
        let interfaces = there.iter().filter(chosen).map(|name| Interface {
            xdp: programs.get(name).copied(),
            ..interface(name, &interrupts)
        });
        let picture = Picture {
            interfaces: interfaces.collect(),
            processors: processors(),
            socket_flows: text(SOCKET_FLOWS).trim().parse().ok(),
            irqbalance: runs("irqbalance"),
        };
        Ok(Machine { picture, there })
    }

    /// Its counters now.
    pub fn counters(&self) -> Counters {
        let ours = |number: &u32| {
            self.picture.interfaces.iter().any(|one| one.interrupts.contains_key(number))
        };
        let interrupts = count::interrupts(&text("/proc/interrupts")).into_iter();
        let queues = self.picture.interfaces.iter();
        Counters {
            softnet: count::softnet(&text("/proc/net/softnet_stat")),
            interrupts: interrupts
                .filter(|(number, _)| ours(number))
                .map(|(number, (_, counts))| (number, counts))
                .collect(),
            queues: queues
                .map(|one| (one.name.clone(), count::queues(&ethtool("-S", &one.name))))
                .filter(|(_, counts)| !counts.is_empty())
                .collect(),
            received: self.there.iter().filter_map(|name| received(name)).collect(),
        }
    }
}

/// How many packets an interface has received.
fn received(name: &str) -> Option<(String, u64)> {
    let count = fs::read_to_string(place(name, "statistics/rx_packets")).ok()?;
    Some((name.to_owned(), count.trim().parse().ok()?))
}

fn interface(name: &str, all: &BTreeMap<u32, (String, BTreeMap<u32, u64>)>) -> Interface {
    let queue = |kind: &str, number: usize, what: &str| {
        fs::read_to_string(place(name, &format!("queues/{kind}-{number}/{what}"))).ok()
    };
    let count = |kind: &str| {
        (0..).take_while(|at| place(name, &format!("queues/{kind}-{at}")).exists()).count()
    };
    let receive = (0..count("rx")).map(|at| Receive {
        processors: queue("rx", at, "rps_cpus")
            .and_then(|text| Mask::from_hex(&text).ok())
            .unwrap_or_default(),
        flows: queue("rx", at, "rps_flow_cnt")
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0),
    });
    let send = (0..count("tx"))
        .map(|at| queue("tx", at, "xps_cpus").and_then(|text| Mask::from_hex(&text).ok()));
    let interrupts = numbers(name).into_iter().filter_map(|number| {
        let (name, _) = all.get(&number)?;
        queue_of(name)?;
        let list = text(&format!("/proc/irq/{number}/smp_affinity_list"));
        let processors = Mask::from_list(&list).ok()?;
        Some((number, Interrupt { name: name.clone(), processors }))
    });
    let node = fs::read_to_string(place(name, "device/numa_node")).ok();
    let is_device = place(name, "device").exists();
    Interface {
        name: name.to_owned(),
        // -1 where there is one node, or the firmware does not say.
        node: node.and_then(|text| text.trim().parse().ok()),
        receive: receive.collect(),
        send: send.collect(),
        interrupts: interrupts.collect(),
        // Queues of what is no device are filled by who sends: more of them spread nothing.
        channels: is_device.then(|| channels(&ethtool("-l", name))).flatten(),
        spread: spread(&ethtool("-x", name)),
        xdp: None,
    }
}

/// Interrupts of an interface's device, or of the device that carries it (virtio's does).
fn numbers(name: &str) -> Vec<u32> {
    let Ok(device) = place(name, "device").canonicalize() else { return Vec::new() };
    let of = |dir: &Path| -> Vec<u32> {
        let entries = fs::read_dir(dir.join("msi_irqs")).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let own = of(&device);
    if own.is_empty() { device.parent().map(of).unwrap_or_default() } else { own }
}

fn processors() -> Vec<Processor> {
    let on = Mask::from_list(&text(&format!("{PROCESSORS}/online"))).unwrap_or_default();
    let one = |number: u32| {
        let dir = format!("{PROCESSORS}/cpu{number}");
        let threads = Mask::from_list(&text(&format!("{dir}/topology/thread_siblings_list")));
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let node = names.find_map(|name| name.strip_prefix("node")?.parse().ok());
        let core = threads.ok().and_then(|threads| threads.iter().next()).unwrap_or(number);
        Processor { number, node: node.unwrap_or(0), core }
    };
    on.iter().map(one).collect()
}

/// Interfaces with a program of XDP.
fn programs() -> BTreeMap<String, Xdp> {
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
    let Ok(text) = said(Command::new(find("ip")).args(["-j", "-d", "link", "show"])) else {
        return BTreeMap::new();
    };
    let links: Vec<Link> = serde_json::from_str(&text).unwrap_or_default();
    // IFLA_XDP_ATTACHED of linux/if_link.h: 2 is in the stack, 1 in the driver, 3 in the device.
    let mode = |mode: u8| if mode == 2 { Xdp::Generic } else { Xdp::Driver };
    let named = links.into_iter().filter_map(|link| Some((link.ifname, mode(link.xdp?.mode))));
    named.collect()
}

/// Whether a program of this name runs.
fn runs(program: &str) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    names.any(|name| name.trim() == program)
}

/// What ethtool(8) says; nothing where it is not installed or the driver does not know.
fn ethtool(what: &str, interface: &str) -> String {
    said(Command::new(find("ethtool")).args([what, interface])).unwrap_or_default()
}

fn place(interface: &str, what: &str) -> PathBuf {
    Path::new(INTERFACES).join(interface).join(what)
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
