//! Findings about uneven network work, with the processor and queue named.
//!
//! It changes nothing; `plan` makes the steps.

use super::counters::{LEAST_RATE, NetworkLoad, ProcessorLoad};
use super::snapshot::{SteeringSnapshot, XdpPlacement};
use crate::advice::{FindingSeverity, LinkFinding};

/// A processor that does the work of this many average processors is overloaded; with fewer than `FEW` processors a
/// fixed part counts.
const TOO_MUCH: f64 = 2.0;
/// Of two or three processors, one with this part of the work is overloaded.
const TOO_MUCH_OF_FEW: f64 = 0.8;
const FEW: usize = 4;

/// How uneven the load is: 1 is even; the number of processors means that one does everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadSkew {
    pub processor: u32,
    /// The busiest processor's part of the packets, 0–1.
    pub part: f64,
    /// Its packets as a multiple of the average.
    pub times: f64,
    /// Packets a second of all processors.
    pub packets: f64,
}

impl LoadSkew {
    /// The skew of a load. `None`: there was no load.
    pub fn from_load(load: &NetworkLoad) -> Option<LoadSkew> {
        let packets = load.packets();
        let most = load.processors.iter().max_by(|a, b| a.1.packets.total_cmp(&b.1.packets))?;
        if packets <= 0.0 {
            return None;
        }
        let part = most.1.packets / packets;
        Some(LoadSkew {
            processor: *most.0,
            part,
            times: part * load.processors.len() as f64,
            packets,
        })
    }

    /// Whether the busiest of `processors` is overloaded.
    pub fn is_too_much(&self, processors: usize) -> bool {
        let least = if processors < FEW { TOO_MUCH_OF_FEW * processors as f64 } else { TOO_MUCH };
        processors > 1 && self.packets >= LEAST_RATE && self.times >= least
    }
}

pub fn diagnose(snapshot: &SteeringSnapshot, load: &NetworkLoad) -> Vec<LinkFinding> {
    let from = LoadOrigin::from_load(snapshot, load);
    let mut out = vec![processor_finding(load, &from)];
    out.extend(loss_findings(load, &from));
    for one in &snapshot.interfaces {
        if load.is_idle(&one.name) {
            out.push(note_finding(
                &one.name,
                &format!(
                    "{:.0} of {:.0} packets a second came by it",
                    load.received[&one.name],
                    load.packets()
                ),
                "the work is not its: nothing of it is to be changed for this load",
            ));
        }
        out.extend(queue_skew_finding(&one.name, one.receive.len(), load));
        if one.xdp == Some(XdpPlacement::Driver) {
            out.push(note_finding(
                &one.name,
                "a program of XDP runs in its driver",
                "what it forwards is done before RPS and RFS; only the device's queues spread it",
            ));
        }
    }
    if snapshot.irqbalance {
        out.push(note_finding(
            "irqbalance",
            "it runs, and moves interrupts by itself",
            "stop it, or tell it which interrupts to leave alone (--banirq), before interrupts are placed by hand",
        ));
    }
    out
}

/// Packets a second that an interface received.
struct InterfaceRate {
    name: String,
    packets: f64,
}

/// The interfaces that received the packets; the processors' counters do not contain that.
struct LoadOrigin {
    /// Packets a second of the examined interfaces.
    from_known: f64,
    /// Packets a second of other interfaces of this network namespace, most first.
    others: Vec<InterfaceRate>,
    /// Packets a second from outside this network namespace.
    elsewhere: f64,
}

impl LoadOrigin {
    fn from_load(snapshot: &SteeringSnapshot, load: &NetworkLoad) -> LoadOrigin {
        let is_shown = |name: &str| snapshot.interfaces.iter().any(|one| one.name == name);
        let mut shown = 0.0;
        let mut others = Vec::new();
        for (name, packets) in &load.received {
            if is_shown(name) {
                shown += packets;
            } else {
                others.push(InterfaceRate { name: name.clone(), packets: *packets });
            }
        }
        others.sort_by(|a, b| b.packets.total_cmp(&a.packets));
        let here: f64 = load.received.values().sum();
        let elsewhere =
            if load.received.is_empty() { 0.0 } else { (load.packets() - here).max(0.0) };
        LoadOrigin { from_known: shown, others, elsewhere }
    }

    /// The advice for one overloaded processor; `own`: for the case that the examined interfaces received most packets.
    fn advice(&self, own: &str) -> String {
        let (name, other) =
            self.others.first().map_or(("", 0.0), |most| (most.name.as_str(), most.packets));
        if self.from_known >= other && self.from_known >= self.elsewhere {
            return own.to_owned();
        }
        if other >= self.elsewhere {
            return format!(
                "most packets came by {name} ({other:.0} a second), which has no card's queues and interrupts: its packets \
                 are received on the processor that sent them. Spread who sends, or have RPS do it: look at it by \
                 --interface {name}"
            );
        }
        format!(
            "{:.0} packets a second came by no interface of this network namespace: look from within the one that has the \
             load, by `ip netns exec NAME steelyard doctor cores --interface NAME`",
            self.elsewhere
        )
    }
}

fn processor_finding(load: &NetworkLoad, from: &LoadOrigin) -> LinkFinding {
    let count = load.processors.len();
    let Some(skew) = LoadSkew::from_load(load) else {
        return note_finding("processors", "no packet came", "measure under load");
    };
    let work = |number: u32| load.processors.get(&number).copied().unwrap_or_default();
    let busiest = work(skew.processor);
    let others = load.processors.iter().filter(|one| *one.0 != skew.processor);
    let others = others.map(|one| one.1.softirq).sum::<f64>() / (count.max(2) - 1) as f64;
    let found = format!(
        "processor {} takes {:.0} % of {:.0} packets a second and spends {:.0} % of its time on it, the others {:.0} %",
        skew.processor,
        skew.part * 100.0,
        skew.packets,
        busiest.softirq * 100.0,
        others * 100.0,
    );
    if skew.is_too_much(count) {
        let advice = format!(
            "it does the work of {:.1} of {count}: {}",
            skew.times,
            from.advice("spread receiving as below")
        );
        LinkFinding {
            severity: FindingSeverity::Problem,
            subject: "processors".to_owned(),
            observation: found,
            advice,
            commands: Vec::new(),
        }
    } else if skew.packets < LEAST_RATE {
        note_finding("processors", &found, "too little to judge by: measure under load")
    } else {
        LinkFinding {
            severity: FindingSeverity::Good,
            subject: "processors".to_owned(),
            observation: found,
            advice: String::new(),
            commands: Vec::new(),
        }
    }
}

fn loss_findings(load: &NetworkLoad, from: &LoadOrigin) -> Vec<LinkFinding> {
    let each = |(number, work): (&u32, &ProcessorLoad)| {
        let mut out = Vec::new();
        if work.dropped > 0.0 {
            out.push(LinkFinding {
                severity: FindingSeverity::Problem,
                subject: format!("processor {number}"),
                observation: format!(
                    "{:.0} packets a second are lost at its full backlog",
                    work.dropped
                ),
                advice: format!(
                    "{}; a longer backlog only delays the loss",
                    from.advice("spread receiving first")
                ),
                commands: vec!["sysctl -w net.core.netdev_max_backlog=10000".to_owned()],
            });
        }
        if work.squeezed >= 1.0 {
            out.push(note_finding(
                &format!("processor {number}"),
                &format!("it stopped {:.0} times a second with packets left", work.squeezed),
                &format!(
                    "{}; then net.core.netdev_budget and netdev_budget_usecs",
                    from.advice("spread receiving first")
                ),
            ));
        }
        out
    };
    load.processors.iter().flat_map(each).collect()
}

/// Queues with much more than their part: few flows, or a device table that uses few queues.
fn queue_skew_finding(interface: &str, queues: usize, load: &NetworkLoad) -> Option<LinkFinding> {
    let counts = load.queues.get(interface).filter(|counts| counts.len() > 1)?;
    let all: f64 = counts.values().sum();
    let most = counts.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let part = most.1 / all.max(1.0);
    let least = if queues < FEW { TOO_MUCH_OF_FEW } else { TOO_MUCH / queues as f64 };
    if all < LEAST_RATE || part < least {
        return None;
    }
    Some(LinkFinding {
        severity: FindingSeverity::Problem,
        subject: interface.to_owned(),
        observation: format!(
            "queue {} takes {:.0} % of {:.0} packets a second, of {queues} queues",
            most.0,
            part * 100.0,
            all
        ),
        advice: "few flows, or tunnels that look like one flow to the device, or its table leads to few queues"
            .to_owned(),
        commands: vec![format!("ethtool -x {interface}"), format!("ethtool -N {interface} rx-flow-hash udp4 sdfn")],
    })
}

fn note_finding(about: &str, found: &str, advice: &str) -> LinkFinding {
    LinkFinding {
        severity: FindingSeverity::Note,
        subject: about.to_owned(),
        observation: found.to_owned(),
        advice: advice.to_owned(),
        commands: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::steering::snapshot::InterfaceQueues;

    fn load(packets: &[f64]) -> NetworkLoad {
        let works = packets.iter().enumerate().map(|(number, packets)| {
            (
                number as u32,
                ProcessorLoad { packets: *packets, softirq: 0.5, ..ProcessorLoad::default() },
            )
        });
        NetworkLoad { processors: works.collect(), ..NetworkLoad::default() }
    }

    #[test]
    fn one_that_does_the_work_of_sixteen_is_named() {
        let mut packets = [0.0; 16];
        packets[3] = 50_000.0;
        let found = diagnose(&SteeringSnapshot::default(), &load(&packets));
        assert_eq!(found[0].severity, FindingSeverity::Problem);
        assert!(
            found[0].observation.starts_with("processor 3 takes 100 % of 50000 packets a second")
        );
        assert!(found[0].advice.contains("the work of 16.0 of 16"), "{}", found[0].advice);
    }

    /// The origin of the packets, the advice, and whether the plan leaves the card out.
    type DiagnosisCase<'a> = (&'a [(&'a str, f64)], &'a str, bool);

    #[test]
    fn work_that_came_by_no_card_is_not_blamed_on_one() {
        let eth0 = InterfaceQueues {
            name: "eth0".to_owned(),
            receive: vec![Default::default()],
            ..InterfaceQueues::default()
        };
        let snapshot = SteeringSnapshot { interfaces: vec![eth0], ..SteeringSnapshot::default() };
        let by = |rows: &[(&str, f64)]| {
            let mut load = load(&[50_000.0, 0.0]);
            load.processors.insert(
                1,
                ProcessorLoad { dropped: 7.0, squeezed: 3.0, ..ProcessorLoad::default() },
            );
            load.received = rows.iter().map(|(name, rate)| ((*name).to_owned(), *rate)).collect();
            load
        };
        let rows: [DiagnosisCase<'_>; 6] = [
            (&[("eth0", 49_000.0), ("lo", 10.0)], "spread receiving", false),
            (
                &[("eth0", 0.0), ("veth7", 48_000.0), ("lo", 10.0)],
                "most packets came by veth7",
                true,
            ),
            (&[("eth0", 2_000.0), ("lo", 48_000.0)], "most packets came by lo", false),
            (&[("eth0", 3.0), ("lo", 10.0)], "49987 packets a second came by no interface", true),
            // Without counters by interface the origin is unknown.
            (&[], "spread receiving", false),
            (&[("eth0", 30_000.0), ("veth7", 20_000.0)], "spread receiving", false),
        ];
        for (received, advised, left_out) in rows {
            let load = by(received);
            let found = diagnose(&snapshot, &load);
            let skew_findings = found.iter().filter(|one| one.subject.starts_with("processor"));
            let skew_findings: Vec<&LinkFinding> = skew_findings.collect();
            assert_eq!(skew_findings.len(), 3, "{skew_findings:?}");
            assert!(
                skew_findings.iter().all(|one| one.advice.contains(advised)),
                "{received:?}: {skew_findings:?}"
            );
            let idle = found
                .iter()
                .any(|one| one.subject == "eth0" && one.observation.ends_with("came by it"));
            assert_eq!(idle, left_out, "{received:?}: {found:?}");
            assert_eq!(
                snapshot.loaded_interfaces(&load).interfaces.is_empty(),
                left_out,
                "{received:?}"
            );
        }
    }

    #[test]
    fn a_machine_without_load_is_planned_for_as_a_whole() {
        let eth0 = InterfaceQueues { name: "eth0".to_owned(), ..InterfaceQueues::default() };
        let snapshot = SteeringSnapshot { interfaces: vec![eth0], ..SteeringSnapshot::default() };
        let mut load = load(&[100.0, 0.0]);
        load.received.insert("eth0".to_owned(), 0.0);
        assert_eq!(snapshot.loaded_interfaces(&load), snapshot);
        assert!(!diagnose(&snapshot, &load).iter().any(|one| one.subject == "eth0"));
    }

    #[test]
    fn even_and_idle_machines_are_not_blamed() {
        let rows: [(&[f64], FindingSeverity); 6] = [
            (&[10_000.0, 11_000.0], FindingSeverity::Good),
            (&[10_000.0, 3_000.0], FindingSeverity::Good),
            (&[10_000.0, 1_000.0], FindingSeverity::Problem),
            (&[900.0, 0.0], FindingSeverity::Note),
            (&[0.0, 0.0], FindingSeverity::Note),
            (&[90_000.0], FindingSeverity::Good),
        ];
        for (packets, wanted) in rows {
            assert_eq!(
                diagnose(&SteeringSnapshot::default(), &load(packets))[0].severity,
                wanted,
                "{packets:?}"
            );
        }
    }

    #[test]
    fn losses_queues_and_what_moves_interrupts_are_named() {
        let mut load = load(&[10_000.0, 10_000.0]);
        load.processors
            .insert(1, ProcessorLoad { dropped: 7.0, squeezed: 3.0, ..ProcessorLoad::default() });
        let counts = BTreeMap::from([(0, 100.0), (1, 9_000.0), (2, 50.0), (3, 1.0)]);
        load.queues.insert("eth0".to_owned(), counts);
        let eth0 = InterfaceQueues {
            name: "eth0".to_owned(),
            receive: vec![Default::default(); 4],
            xdp: Some(XdpPlacement::Driver),
            ..InterfaceQueues::default()
        };
        let snapshot = SteeringSnapshot {
            interfaces: vec![eth0],
            irqbalance: true,
            ..SteeringSnapshot::default()
        };
        let messages: Vec<String> = diagnose(&snapshot, &load)
            .iter()
            .map(|one| format!("{}: {}", one.subject, one.observation))
            .collect();
        for wanted in [
            "processor 1: 7 packets a second are lost",
            "processor 1: it stopped 3 times",
            "eth0: queue 1 takes 98 % of 9151 packets a second, of 4 queues",
            "eth0: a program of XDP",
            "irqbalance: it runs",
        ] {
            assert!(messages.iter().any(|one| one.starts_with(wanted)), "{wanted} in {messages:?}");
        }
    }
}
