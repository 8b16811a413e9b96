//! The steps that spread a machine's network work, each with its undo: interrupts, channels and table of the device
//! (RSS), RPS, RFS and XPS.
//!
//! It writes nothing. The kernel's Documentation/networking/scaling.rst explains each mechanism.

use std::collections::BTreeMap;

use super::counters::queue_number;
use super::cpu_mask::CpuMask;
use super::snapshot::{InterfaceQueues, SteeringSnapshot, XdpPlacement};

/// The size of RFS' table for a machine with some thousand active connections, as scaling.rst advises.
pub const FLOWS: u64 = 32_768;
/// The kernel's file for it.
pub const SOCKET_FLOWS: &str = "/proc/sys/net/core/rps_sock_flow_entries";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteeringGoal {
    /// Connections end here (`http`, `tcp`): RFS brings packets to the processor that reads them.
    pub terminates_connections: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SteeringStep {
    /// The interface or the machine that the step changes.
    pub subject: String,
    /// A description of the step.
    pub why: String,
    pub change: SteeringChange,
}

/// A change and its undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SteeringChange {
    /// Writes a file of /proc or /sys.
    Write { file: String, from: String, to: String },
    Ethtool {
        to: Vec<String>,
        /// The arguments that undo it.
        from: Vec<String>,
    },
}

impl SteeringChange {
    /// The command for a root shell.
    pub fn command(&self) -> String {
        match self {
            SteeringChange::Write { file, to, .. } => format!("echo {to} > {file}"),
            SteeringChange::Ethtool { to, .. } => format!("ethtool {}", to.join(" ")),
        }
    }

    pub fn into_reverse(self) -> SteeringChange {
        match self {
            SteeringChange::Write { file, from, to } => {
                SteeringChange::Write { file, from: to, to: from }
            }
            SteeringChange::Ethtool { to, from } => SteeringChange::Ethtool { to: from, from: to },
        }
    }
}

/// The steps in their order; empty: nothing to change.
///
/// New channels of a device create queues that do not exist yet, so the caller must plan a second time afterwards.
pub fn plan_steering(snapshot: &SteeringSnapshot, wanted: SteeringGoal) -> Vec<SteeringStep> {
    if snapshot.processors.len() < 2 {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut flows = false;
    for one in &snapshot.interfaces {
        if let Some(step) = plan_channels(snapshot, one) {
            out.push(step);
            continue;
        }
        out.extend(plan_indirection_table(one));
        out.extend(plan_interrupts(snapshot, one));
        let (steps, on) = plan_receive_steering(snapshot, one, wanted);
        out.extend(steps);
        flows |= on && wanted.terminates_connections;
        out.extend(plan_transmit_steering(snapshot, one));
    }
    if let Some(now) = snapshot.socket_flows.filter(|now| flows && *now < FLOWS) {
        out.push(SteeringStep {
            subject: "machine".to_owned(),
            why: format!("RFS knows {FLOWS} flows"),
            change: write(SOCKET_FLOWS.to_owned(), now, FLOWS),
        });
    }
    out
}

fn write(file: String, from: impl ToString, to: impl ToString) -> SteeringChange {
    SteeringChange::Write { file, from: from.to_string(), to: to.to_string() }
}

/// A queue for each processor, where the device has as many.
fn plan_channels(snapshot: &SteeringSnapshot, one: &InterfaceQueues) -> Option<SteeringStep> {
    let channels = one.channels?;
    let wanted = channels.maximum.min(u32::try_from(snapshot.processors.len()).unwrap_or(u32::MAX));
    if channels.now >= wanted {
        return None;
    }
    let count = |count: u32| {
        let what = if channels.combined { "combined" } else { "rx" };
        vec!["-L".to_owned(), one.name.clone(), what.to_owned(), count.to_string()]
    };
    Some(SteeringStep {
        subject: one.name.clone(),
        why: format!(
            "{wanted} queues instead of {}: the device spreads flows itself",
            channels.now
        ),
        change: SteeringChange::Ethtool { to: count(wanted), from: count(channels.now) },
    })
}

/// The device's table uses every queue equally.
fn plan_indirection_table(one: &InterfaceQueues) -> Option<SteeringStep> {
    let queues = one.receive.len();
    let most = one.spread.iter().max()?;
    let least = one.spread.iter().min()?;
    if queues < 2 || (one.spread.len() == queues && most - least <= 1) {
        return None;
    }
    let start = |what: &str| vec!["-X".to_owned(), one.name.clone(), what.to_owned()];
    let mut to = start("equal");
    to.push(queues.to_string());
    let mut from = start("weight");
    from.extend((0..queues).map(|at| one.spread.get(at).copied().unwrap_or(0).to_string()));
    Some(SteeringStep {
        subject: one.name.clone(),
        why: format!("the device's table leads to all {queues} queues alike"),
        change: SteeringChange::Ethtool { to, from },
    })
}

/// Each queue's interrupt is assigned to a different processor, as far as possible.
fn plan_interrupts(snapshot: &SteeringSnapshot, one: &InterfaceQueues) -> Vec<SteeringStep> {
    let order = snapshot.processors_by_distance(one.node);
    let queued: Vec<(u32, u32, &CpuMask)> = one
        .interrupts
        .iter()
        .filter_map(|(number, one)| Some((queue_number(&one.name)?, *number, &one.processors)))
        .collect();
    if queued.is_empty() || are_spread(&queued, order.len()) {
        return Vec::new();
    }
    let place = |(queue, number, now): &(u32, u32, &CpuMask)| {
        let processor = order[*queue as usize % order.len()];
        let wanted = CpuMask::from_iter([processor]);
        (**now != wanted).then(|| SteeringStep {
            subject: one.name.clone(),
            why: format!("interrupt {number} of queue {queue} goes to processor {processor}"),
            change: write(format!("/proc/irq/{number}/smp_affinity_list"), now, wanted),
        })
    };
    queued.iter().filter_map(place).collect()
}

/// Whether each interrupt has one processor, and no processor has more than its share. Such interrupts are not moved.
fn are_spread(queued: &[(u32, u32, &CpuMask)], processors: usize) -> bool {
    let mut queues: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (queue, _, mask) in queued {
        let at = queues.entry(*queue).or_default();
        at.extend(mask.iter());
    }
    // Sending and receiving of one queue may have separate interrupts.
    let single = queued.iter().all(|(_, _, mask)| mask.len() == 1);
    let mut each: BTreeMap<u32, usize> = BTreeMap::new();
    for processor in queues.values().filter_map(|at| at.first()) {
        *each.entry(*processor).or_default() += 1;
    }
    single && each.values().all(|count| *count <= queues.len().div_ceil(processors))
}

/// RPS where there are fewer queues than processors, with RFS where connections end here. Returns whether RPS is on.
fn plan_receive_steering(
    snapshot: &SteeringSnapshot,
    one: &InterfaceQueues,
    wanted: SteeringGoal,
) -> (Vec<SteeringStep>, bool) {
    let near = snapshot.processors_near(one.node);
    let queues = one.receive.len();
    let forwarded = one.xdp == Some(XdpPlacement::Driver) && !wanted.terminates_connections;
    let on = queues < near.len() && !forwarded;
    let mask = if on { near } else { CpuMask::default() };
    // A queue's RFS table works only with the machine's table.
    let follow = on && wanted.terminates_connections && snapshot.socket_flows.is_some();
    let flows = if follow { FLOWS / queues.max(1) as u64 } else { 0 };
    let mut out = Vec::new();
    for (at, queue) in one.receive.iter().enumerate() {
        let dir = format!("/sys/class/net/{}/queues/rx-{at}", one.name);
        if queue.processors != mask {
            let why = if on {
                format!("RPS hands packets of queue {at} to processors {mask}")
            } else if forwarded {
                format!("RPS off for queue {at}: XDP in the driver forwards before it")
            } else {
                format!("RPS off for queue {at}: there is a queue for each processor")
            };
            let change = write(format!("{dir}/rps_cpus"), queue.processors.hex(), mask.hex());
            out.push(SteeringStep { subject: one.name.clone(), why, change });
        }
        if follow && queue.flows != flows {
            out.push(SteeringStep {
                subject: one.name.clone(),
                why: format!("RFS brings flows of queue {at} to the processor that reads them"),
                change: write(format!("{dir}/rps_flow_cnt"), queue.flows, flows),
            });
        }
    }
    (out, on)
}

/// XPS: each processor has a send queue; neighbours share one where there are fewer queues.
fn plan_transmit_steering(snapshot: &SteeringSnapshot, one: &InterfaceQueues) -> Vec<SteeringStep> {
    let order = snapshot.processors_by_distance(one.node);
    let queues = one.send.len();
    if queues < 2 {
        return Vec::new();
    }
    let used = queues.min(order.len());
    let step = |(at, now): (usize, &Option<CpuMask>)| {
        let now = now.as_ref()?;
        let part = |index: &usize| index * used / order.len() == at;
        let mask: CpuMask = (0..order.len()).filter(part).map(|index| order[index]).collect();
        (at < used && *now != mask).then(|| SteeringStep {
            subject: one.name.clone(),
            why: format!("processors {mask} send by queue {at}"),
            change: write(
                format!("/sys/class/net/{}/queues/tx-{at}/xps_cpus", one.name),
                now.hex(),
                mask.hex(),
            ),
        })
    };
    one.send.iter().enumerate().filter_map(step).collect()
}

#[cfg(test)]
mod tests;
