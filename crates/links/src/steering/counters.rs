//! Counters of the network's work by processor, queue and interrupt, from the kernel's texts, and their increase.
//!
//! It reads texts, no files. Unknown lines are ignored, because kernels and drivers add some.

use std::collections::BTreeMap;

/// Below this many packets a second no load is reported as uneven.
/// One processor handles many times that.
pub const LEAST_RATE: f64 = 1_000.0;

/// Counters since the machine's start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SteeringCounters {
    pub softnet: BTreeMap<u32, SoftnetStat>,
    /// By interrupt and processor.
    pub interrupts: BTreeMap<u32, BTreeMap<u32, u64>>,
    /// Packets received by interface and queue; empty where the driver has no such counters.
    pub queues: BTreeMap<String, BTreeMap<u32, u64>>,
    /// Packets received by each interface of this network namespace, including virtual ones.
    pub received: BTreeMap<String, u64>,
}

/// A processor's line of /proc/net/softnet_stat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoftnetStat {
    /// Packets processed, after RPS.
    pub packets: u64,
    /// Packets lost because the processor's backlog was full (`net.core.netdev_max_backlog`).
    pub dropped: u64,
    /// How often the processor stopped with work left (`net.core.netdev_budget`).
    pub squeezed: u64,
    /// How often another processor woke it for packets (RPS).
    pub woken: u64,
}

/// The network's load during a span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkLoad {
    pub processors: BTreeMap<u32, ProcessorLoad>,
    /// Packets a second by interface and receive queue.
    pub queues: BTreeMap<String, BTreeMap<u32, f64>>,
    /// Interrupts a second, by interrupt and processor.
    pub interrupts: BTreeMap<u32, BTreeMap<u32, f64>>,
    /// Packets a second by each interface of this network namespace.
    pub received: BTreeMap<String, f64>,
}

/// A processor's load, by second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessorLoad {
    pub packets: f64,
    /// Packets lost at the processor's backlog.
    pub dropped: f64,
    /// Stops with work left.
    pub squeezed: f64,
    /// Times that another processor woke it for packets.
    pub woken: f64,
    /// Part of its time in softirq, 0–1; nearly all of it is receiving.
    pub softirq: f64,
    /// Part of its time not idle, 0–1.
    pub busy: f64,
}

impl SteeringCounters {
    /// The increase since `earlier`, `seconds` before. Counters that appeared or vanished meanwhile are absent.
    pub fn since(&self, earlier: &SteeringCounters, seconds: f64) -> NetworkLoad {
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds.max(1e-9);
        let work = |(number, now): (&u32, &SoftnetStat)| {
            let then = earlier.softnet.get(number)?;
            let packets = rate(now.packets, then.packets);
            let dropped = rate(now.dropped, then.dropped);
            let squeezed = rate(now.squeezed, then.squeezed);
            let woken = rate(now.woken, then.woken);
            Some((
                *number,
                ProcessorLoad { packets, dropped, squeezed, woken, ..ProcessorLoad::default() },
            ))
        };
        let rates = |now: &BTreeMap<u32, u64>, then: &BTreeMap<u32, u64>| {
            let pairs = now.iter().filter_map(|(key, now)| Some((*key, *now, *then.get(key)?)));
            pairs.map(|(key, now, then)| (key, rate(now, then))).collect::<BTreeMap<u32, f64>>()
        };
        NetworkLoad {
            processors: self.softnet.iter().filter_map(work).collect(),
            queues: pairs(&self.queues, &earlier.queues)
                .map(|(name, now, then)| (name.clone(), rates(now, then)))
                .collect(),
            interrupts: pairs(&self.interrupts, &earlier.interrupts)
                .map(|(number, now, then)| (*number, rates(now, then)))
                .collect(),
            received: pairs(&self.received, &earlier.received)
                .map(|(name, now, then)| (name.clone(), rate(*now, *then)))
                .collect(),
        }
    }
}

impl NetworkLoad {
    /// Packets a second of all processors.
    pub fn packets(&self) -> f64 {
        self.processors.values().map(|work| work.packets).sum()
    }

    /// Whether there is load and this interface did not receive it. Without counters by interface the answer is no.
    pub fn is_idle(&self, interface: &str) -> bool {
        let took = self.received.get(interface);
        self.packets() >= LEAST_RATE && took.is_some_and(|took| *took < LEAST_RATE)
    }
}

fn pairs<'a, K: Ord, V>(
    now: &'a BTreeMap<K, V>,
    then: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = (&'a K, &'a V, &'a V)> {
    now.iter().filter_map(|(key, value)| Some((key, value, then.get(key)?)))
}

/// Parses /proc/net/softnet_stat: a line for each processor, hexadecimal. The thirteenth word is the processor's
/// number; on older kernels the line's position is.
pub fn parse_softnet(text: &str) -> BTreeMap<u32, SoftnetStat> {
    let line = |(at, line): (usize, &str)| {
        let words: Vec<u64> =
            line.split_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect();
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let number = words.get(12).copied().unwrap_or(at as u64);
        let read = SoftnetStat {
            packets: *words.first()?,
            dropped: word(1),
            squeezed: word(2),
            woken: word(9),
        };
        Some((u32::try_from(number).ok()?, read))
    };
    text.lines().enumerate().filter_map(line).collect()
}

/// A row of /proc/interrupts without its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptCounts {
    pub name: String,
    /// How often each processor received it, by the processor's number.
    pub received: BTreeMap<u32, u64>,
}

/// Parses /proc/interrupts; by the interrupt's number.
pub fn parse_interrupts(text: &str) -> BTreeMap<u32, InterruptCounts> {
    let mut lines = text.lines();
    let heading = lines.next().unwrap_or_default().split_whitespace();
    let processors: Vec<u32> =
        heading.filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let line = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number: u32 = number.trim().parse().ok()?;
        let mut words = rest.split_whitespace();
        let received =
            processors.iter().map_while(|one| Some((*one, words.next()?.parse().ok()?))).collect();
        let name = words.last().unwrap_or_default().to_owned();
        Some((number, InterruptCounts { name, received }))
    };
    lines.filter_map(line).collect()
}

/// Packets of each receive queue, from `ethtool -S`. Drivers use names such as "rx_queue_0_packets", "rx0_packets" and
/// "rx-0.packets".
pub fn parse_queues(text: &str) -> BTreeMap<u32, u64> {
    let line = |line: &str| {
        let (name, count) = line.trim().rsplit_once(':')?;
        let name = name.strip_prefix("rx")?.trim_start_matches(['_', '-', '.']);
        let name = name.strip_prefix("queue").unwrap_or(name).trim_start_matches(['_', '-', '.']);
        let digits = name.bytes().take_while(u8::is_ascii_digit).count();
        let (number, what) = name.split_at(digits);
        let what = what.trim_start_matches(['_', '-', '.', ':']);
        if !matches!(what, "packets" | "xdp_packets" | "rx_packets") {
            return None;
        }
        Some((number.parse::<u32>().ok()?, count.trim().parse::<u64>().ok()?))
    };
    let mut out = BTreeMap::new();
    for (number, count) in text.lines().filter_map(line) {
        // Some drivers count packets of XDP beside those of the stack.
        let sum: &mut u64 = out.entry(number).or_default();
        *sum = sum.saturating_add(count);
    }
    out
}

/// The queue in an interrupt's name; `None`: the interrupt belongs to the whole device.
pub fn queue_number(name: &str) -> Option<u32> {
    let name = name.split('@').next().unwrap_or(name);
    let other = ["async", "config", "event", "control", "ctrl", "admin", "mgmt", "misc", "fw"];
    if other.iter().any(|word| name.contains(word)) {
        return None;
    }
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (before, number) = name.split_at(name.len() - digits);
    // `eth0` alone is a device with one interrupt for everything.
    if !before.contains(['-', '.', '_', ':']) {
        return if digits == name.len() || before.is_empty() { None } else { Some(0) };
    }
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softnet_is_read_with_and_without_numbers() {
        let new = "000021d5 00000001 00000002 0 0 0 0 0 0 00000004 0 00000000 00000003 0 0\n";
        let wanted = SoftnetStat { packets: 0x21d5, dropped: 1, squeezed: 2, woken: 4 };
        assert_eq!(parse_softnet(new), BTreeMap::from([(3, wanted)]));
        let old = "1 0 0 0 0 0 0 0 0 0 0\n2 0 0 0 0 0 0 0 0 0 0\n";
        let packets: Vec<(u32, u64)> =
            parse_softnet(old).iter().map(|(number, one)| (*number, one.packets)).collect();
        assert_eq!(packets, [(0, 1), (1, 2)]);
        assert!(parse_softnet("nothing\n\n").is_empty());
    }

    #[test]
    fn interrupts_are_read() {
        let text = "           CPU0       CPU2\n 38:          5       5367  PCI-MSIX-0000:00:03.0   1-edge      \
                    virtio2-input.0\nNMI:          0          0   Non-maskable interrupts\n 39:  x 1 odd\n";
        let read = parse_interrupts(text);
        assert_eq!(
            read.get(&38),
            Some(&InterruptCounts {
                name: "virtio2-input.0".to_owned(),
                received: BTreeMap::from([(0, 5), (2, 5367)])
            })
        );
        assert_eq!(read.get(&39).map(|one| one.received.len()), Some(0));
        assert_eq!(read.len(), 2);
    }

    #[test]
    fn drivers_names_of_queues_are_read() {
        let text = "NIC statistics:\n     rx_queue_0_packets: 10\n     rx1_packets: 20\n     rx-2.packets: 30\n     \
                    rx_queue_0_xdp_packets: 5\n     rx_queue_0_bytes: 999\n     tx_queue_0_packets: 7\n     \
                    rx_packets: 4\n     rx_queue_1_drops: 1\n";
        assert_eq!(parse_queues(text), BTreeMap::from([(0, 15), (1, 20), (2, 30)]));
    }

    #[test]
    fn interrupts_name_their_queue() {
        let rows = [
            ("virtio2-input.0", Some(0)),
            ("virtio2-output.13", Some(13)),
            ("eth0-TxRx-3", Some(3)),
            ("mlx5_comp7@pci:0000:3b:00.0", Some(7)),
            ("mlx5_async0@pci:0000:3b:00.0", None),
            ("virtio2-config", None),
            ("eth0", Some(0)),
            ("timer", Some(0)),
            ("9", None),
            ("", None),
        ];
        for (name, wanted) in rows {
            assert_eq!(queue_number(name), wanted, "{name}");
        }
    }

    #[test]
    fn rates_are_what_rose() {
        let one = |packets, woken| SoftnetStat { packets, woken, ..SoftnetStat::default() };
        let queues = |count| BTreeMap::from([("eth0".to_owned(), BTreeMap::from([(0, count)]))]);
        let then = SteeringCounters {
            softnet: BTreeMap::from([(0, one(100, 0)), (1, one(0, 0))]),
            queues: queues(50),
            received: BTreeMap::from([("lo".to_owned(), 10), ("gone".to_owned(), 1)]),
            ..SteeringCounters::default()
        };
        let now = SteeringCounters {
            softnet: BTreeMap::from([(0, one(300, 4)), (2, one(9, 9))]),
            queues: queues(20),
            received: BTreeMap::from([("lo".to_owned(), 40)]),
            ..SteeringCounters::default()
        };
        let load = now.since(&then, 2.0);
        assert_eq!(load.processors.keys().copied().collect::<Vec<_>>(), [0]);
        assert_eq!((load.processors[&0].packets, load.processors[&0].woken), (100.0, 2.0));
        assert_eq!(load.queues["eth0"][&0], 0.0, "a counter that began anew says nothing");
        assert_eq!(load.received, BTreeMap::from([("lo".to_owned(), 15.0)]));
    }
}
