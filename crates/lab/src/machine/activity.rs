//! A machine's activity during a run: switches, interrupts by queue, memory, interfaces and the busiest processes.
//!
//! It parses /proc texts (proc(5)) from before and after a run; it opens no files.

use std::collections::BTreeMap;

use links::steering::counters::parse_interrupts;
use serde::{Deserialize, Serialize};

/// Texts and counters at one time.
#[derive(Clone, Debug, Default)]
pub struct ProcSnapshot {
    pub stat: String,
    pub memory: String,
    pub interrupts: String,
    pub interfaces: String,
    /// /proc/PID/stat of every process that could be read.
    pub processes: Vec<String>,
    /// Interrupts that belong to an interface's device, by number.
    pub owners: BTreeMap<u32, String>,
}

/// Memory that programs could use before and after a run, bytes; 0: not reported. In JSON it is a list of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct AvailableMemory {
    pub before: u64,
    pub after: u64,
}

impl From<(u64, u64)> for AvailableMemory {
    fn from((before, after): (u64, u64)) -> AvailableMemory {
        AvailableMemory { before, after }
    }
}

impl From<AvailableMemory> for (u64, u64) {
    fn from(AvailableMemory { before, after }: AvailableMemory) -> (u64, u64) {
        (before, after)
    }
}

/// Activity between two snapshots. Rates are per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineActivity {
    /// Context switches of all processors.
    pub context_switches: f64,
    /// Interrupts of all processors.
    pub interrupts: f64,
    pub memory_available: AvailableMemory,
    /// Main memory in bytes.
    pub memory_total: u64,
    /// Interfaces with traffic.
    pub interfaces: Vec<InterfaceActivity>,
    /// Interrupts of interfaces' queues.
    pub queues: Vec<QueueActivity>,
    /// The busiest processes, the busiest first.
    pub processes: Vec<ProcessActivity>,
}

/// Traffic of an interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InterfaceActivity {
    pub name: String,
    /// Bits a second received.
    pub received_bits: f64,
    /// Packets a second received.
    pub received_packets: f64,
    /// Received packets a second that were dropped.
    pub dropped: f64,
    /// Bits a second sent.
    pub sent_bits: f64,
    /// Packets a second sent.
    pub sent_packets: f64,
}

/// Interrupts of one queue of an interface, by processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueActivity {
    pub interface: String,
    /// The driver's name for the queue.
    pub name: String,
    /// Interrupts a second by processor.
    pub each: BTreeMap<u32, f64>,
}

/// The load of a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessActivity {
    pub number: u32,
    /// The process name in the kernel.
    pub name: String,
    /// Processors that it used; 1.5 is one and a half.
    pub processors: f64,
    /// Resident memory at the end, bytes.
    pub resident: u64,
}

/// The activity between two snapshots, `seconds` apart. Entries that appeared or vanished are absent.
pub fn activity_between(
    before: &ProcSnapshot,
    after: &ProcSnapshot,
    seconds: f64,
) -> MachineActivity {
    let seconds = seconds.max(1e-9);
    let rate =
        |of: &dyn Fn(&ProcSnapshot) -> u64| of(after).saturating_sub(of(before)) as f64 / seconds;
    let available = |texts: &ProcSnapshot| kibibytes(&texts.memory, "MemAvailable:");
    MachineActivity {
        context_switches: rate(&|texts| counter(&texts.stat, "ctxt")),
        interrupts: rate(&|texts| counter(&texts.stat, "intr")),
        memory_available: AvailableMemory { before: available(before), after: available(after) },
        memory_total: kibibytes(&after.memory, "MemTotal:"),
        interfaces: interface_activity(before, after, seconds),
        queues: queue_activity(before, after, seconds),
        processes: process_activity(before, after, seconds),
    }
}

fn counter(stat: &str, name: &str) -> u64 {
    let words = stat.lines().filter_map(|line| line.split_once(' '));
    let mut found = words.filter(|(word, _)| *word == name);
    let rest = found.next().map_or("", |(_, rest)| rest);
    rest.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn kibibytes(memory: &str, name: &str) -> u64 {
    let found = memory.lines().find_map(|line| line.strip_prefix(name));
    let number = found.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

/// `name: bytes packets errs drop fifo frame compressed multicast bytes packets …`.
fn interface_activity(
    before: &ProcSnapshot,
    after: &ProcSnapshot,
    seconds: f64,
) -> Vec<InterfaceActivity> {
    let read = |text: &str| -> BTreeMap<String, Vec<u64>> {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        let row =
            |rest: &str| rest.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        lines.map(|(name, rest)| (name.trim().to_owned(), row(rest))).collect()
    };
    let then = read(&before.interfaces);
    let mut out = Vec::new();
    for (name, now) in read(&after.interfaces) {
        let Some(then) = then.get(&name).filter(|then| then.len().min(now.len()) >= 10) else {
            continue;
        };
        let rate = |at: usize| now[at].saturating_sub(then[at]) as f64 / seconds;
        let one = InterfaceActivity {
            name,
            received_bits: rate(0) * 8.0,
            received_packets: rate(1),
            dropped: rate(3),
            sent_bits: rate(8) * 8.0,
            sent_packets: rate(9),
        };
        if one.received_packets + one.sent_packets > 0.0 {
            out.push(one);
        }
    }
    out
}

fn queue_activity(before: &ProcSnapshot, after: &ProcSnapshot, seconds: f64) -> Vec<QueueActivity> {
    let then = parse_interrupts(&before.interrupts);
    let mut out = Vec::new();
    for (number, now) in parse_interrupts(&after.interrupts) {
        let (Some(interface), Some(then)) = (after.owners.get(&number), then.get(&number)) else {
            continue;
        };
        let risen = now.received.into_iter().map(|(processor, now)| {
            let earlier = then.received.get(&processor).copied().unwrap_or(0);
            (processor, now.saturating_sub(earlier) as f64 / seconds)
        });
        let each: BTreeMap<u32, f64> = risen.filter(|(_, rate)| *rate > 0.0).collect();
        if !each.is_empty() {
            out.push(QueueActivity { interface: interface.clone(), name: now.name, each });
        }
    }
    out
}

struct ProcessUsage {
    name: String,
    seconds: f64,
    resident: u64,
}

fn process_activity(
    before: &ProcSnapshot,
    after: &ProcSnapshot,
    seconds: f64,
) -> Vec<ProcessActivity> {
    let read = |texts: &ProcSnapshot| -> BTreeMap<u32, ProcessUsage> {
        texts.processes.iter().filter_map(|text| parse_process_usage(text)).collect()
    };
    let then = read(before);
    let new = |number: u32, now: ProcessUsage| {
        let earlier = then.get(&number).filter(|then| then.name == now.name);
        // All processor time of a new process falls into the span.
        let spent = now.seconds - earlier.map_or(0.0, |then| then.seconds);
        let processors = (spent / seconds).max(0.0);
        ProcessActivity { number, name: now.name, processors, resident: now.resident }
    };
    let all = read(after).into_iter().map(|(number, now)| new(number, now));
    let mut busy: Vec<ProcessActivity> = all.filter(|process| process.processors >= IDLE).collect();
    busy.sort_by(|a, b| b.processors.total_cmp(&a.processors));
    busy.truncate(MOST_PROCESSES);
    busy
}

/// `number (name) state …`: fields 14 and 15 are hundredths of seconds, field 24 is pages.
fn parse_process_usage(stat: &str) -> Option<(u32, ProcessUsage)> {
    let (number, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |at: usize| fields.get(at - 3)?.parse::<u64>().ok();
    let seconds = (field(14)? + field(15)?) as f64 / TICKS;
    let resident = field(24)? * PAGE;
    Some((number.trim().parse().ok()?, ProcessUsage { name: name.to_owned(), seconds, resident }))
}

/// Ticks a second, as the kernel reports them to programs (`USER_HZ`).
const TICKS: f64 = 100.0;
/// Page size on the supported architectures, bytes.
const PAGE: u64 = 4_096;
/// Limit for reported processes, the busiest first.
const MOST_PROCESSES: usize = 10;
/// Processes below this share of a processor are idle.
/// Half a percent: daemons that wake up now and then.
const IDLE: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;

    fn process(number: u32, name: &str, user: u64, system: u64, pages: u64) -> String {
        format!(
            "{number} ({name}) S 1 1 1 0 -1 0 0 0 0 0 {user} {system} 0 0 20 0 1 0 5 99 {pages} 0"
        )
    }

    fn texts(switches: u64, counts: [u64; 2], bytes: u64, ticks: u64) -> ProcSnapshot {
        ProcSnapshot {
            stat: format!("cpu 1 2\nintr {} 0 0\nctxt {switches}\n", switches * 2),
            memory: "MemTotal: 2048 kB\nMemFree: 1 kB\nMemAvailable: 1024 kB\n".to_owned(),
            interrupts: format!(
                "      CPU0 CPU1\n 30: {} {} PCI-MSI 1 eth0-rx-0\n 31: 5 5 PCI-MSI 2 nvme0q1\n",
                counts[0], counts[1]
            ),
            interfaces: format!(
                "Inter-| Receive\n face |bytes packets\n  eth0: {bytes} {} 0 0 0 0 0 0 {bytes} 0 0 0 0 0 0 0\n    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n",
                bytes / 100
            ),
            processes: vec![
                process(7, "a b) c", ticks, ticks, 10),
                process(8, "idle", 3, 3, 1),
                "9 (broken".to_owned(),
            ],
            owners: BTreeMap::from([(30, "eth0".to_owned())]),
        }
    }

    #[test]
    fn rates_are_what_rose() {
        let found = activity_between(
            &texts(100, [10, 0], 1_000, 50),
            &texts(300, [110, 0], 3_000, 100),
            2.0,
        );
        assert_eq!((found.context_switches, found.interrupts), (100.0, 200.0));
        assert_eq!((found.memory_total, found.memory_available.after), (2_097_152, 1_048_576));
        let [eth0] = found.interfaces.as_slice() else { panic!("{found:?}: lo was quiet") };
        assert_eq!((eth0.received_bits, eth0.received_packets), (8_000.0, 10.0));
        let [queue] = found.queues.as_slice() else { panic!("{found:?}: no interface has nvme0") };
        assert_eq!((queue.name.as_str(), &queue.each), ("eth0-rx-0", &BTreeMap::from([(0, 50.0)])));
        let [process] = found.processes.as_slice() else { panic!("{found:?}") };
        assert_eq!((process.name.as_str(), process.processors), ("a b) c", 0.5));
        assert_eq!(process.resident, 40_960);
    }

    #[test]
    fn other_texts_are_nothing() {
        let odd = ProcSnapshot {
            stat: "ctxt\nintr x".to_owned(),
            interfaces: "eth0: 1 2\n: \0".to_owned(),
            processes: vec![String::new(), "1 () ".to_owned(), ") (".to_owned()],
            ..ProcSnapshot::default()
        };
        assert_eq!(activity_between(&odd, &odd, 0.0), MachineActivity::default());
    }
}
