//! Processor time by kind during a span, and receive softirqs, for each processor.
//!
//! It parses the texts of /proc/stat and /proc/softirqs (proc(5)); it opens no files.

use serde::{Deserialize, Serialize};

/// Counters of every processor, in the kernel's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessorCounters {
    each: Vec<ProcessorTicks>,
}

/// One processor's time since boot, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ProcessorTicks {
    number: u32,
    user: u64,
    system: u64,
    irq: u64,
    softirq: u64,
    steal: u64,
    idle: u64,
    net_rx: u64,
}

/// Shares of a processor's time during a span, from 0 to 1; their sum is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessorShare {
    pub number: u32,
    pub user: f64,
    /// Kernel time on behalf of programs.
    pub system: f64,
    pub irq: f64,
    /// Work after interrupts: most of receiving packets.
    pub softirq: f64,
    /// Time that the hypervisor gave to others.
    pub steal: f64,
    /// Idle, or waiting for a disk.
    pub idle: f64,
    /// NET_RX softirqs a second.
    pub net_rx: f64,
}

impl ProcessorShare {
    pub fn busy(&self) -> f64 {
        (1.0 - self.idle).clamp(0.0, 1.0)
    }
}

impl ProcessorCounters {
    /// Parses the two files' texts. Lines of another form are skipped, because kernels add some.
    pub fn read(stat: &str, softirqs: &str) -> ProcessorCounters {
        let mut each: Vec<ProcessorTicks> = stat.lines().filter_map(processor).collect();
        // The heading lists the present processors; a row has a column for each.
        let numbers: Vec<u32> = softirqs
            .lines()
            .next()
            .into_iter()
            .flat_map(str::split_whitespace)
            .filter_map(|name| name.strip_prefix("CPU")?.parse().ok())
            .collect();
        let row = softirqs.lines().find_map(|line| line.trim_start().strip_prefix("NET_RX:"));
        let counts = row.into_iter().flat_map(str::split_whitespace);
        for (number, count) in numbers.iter().zip(counts) {
            if let Some(ticks) = each.iter_mut().find(|ticks| ticks.number == *number) {
                ticks.net_rx = count.parse().unwrap_or(0);
            }
        }
        ProcessorCounters { each }
    }

    /// Shares between `earlier` and now, `seconds` later. Processors that appeared or vanished are absent.
    pub fn since(&self, earlier: &ProcessorCounters, seconds: f64) -> Vec<ProcessorShare> {
        let pairs = self.each.iter().filter_map(|now| {
            Some((now, earlier.each.iter().find(|then| then.number == now.number)?))
        });
        pairs.filter_map(|(now, then)| share(now, then, seconds)).collect()
    }
}

/// `cpu0 user nice system idle iowait irq softirq steal …`.
fn processor(line: &str) -> Option<ProcessorTicks> {
    let mut words = line.split_whitespace();
    let number = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    let mut next = || words.next().and_then(|word| word.parse::<u64>().ok());
    let user = next()?;
    let nice = next()?;
    let system = next()?;
    let idle = next()? + next()?;
    let irq = next()?;
    let softirq = next()?;
    let steal = next().unwrap_or(0);
    Some(ProcessorTicks { number, user: user + nice, system, irq, softirq, steal, idle, net_rx: 0 })
}

fn share(now: &ProcessorTicks, then: &ProcessorTicks, seconds: f64) -> Option<ProcessorShare> {
    let spent = |of: fn(&ProcessorTicks) -> u64| of(now).saturating_sub(of(then)) as f64;
    let parts: [fn(&ProcessorTicks) -> u64; 6] =
        [|t| t.user, |t| t.system, |t| t.irq, |t| t.softirq, |t| t.steal, |t| t.idle];
    let all: f64 = parts.iter().map(|part| spent(*part)).sum();
    if all <= 0.0 || seconds <= 0.0 {
        return None;
    }
    let [user, system, irq, softirq, steal, idle] = parts.map(|part| spent(part) / all);
    let net_rx = spent(|t| t.net_rx) / seconds;
    Some(ProcessorShare { number: now.number, user, system, irq, softirq, steal, idle, net_rx })
}

/// Describes an uneven distribution over processors and its remedy; `None`: the distribution is even.
pub fn describe_skew(shares: &[ProcessorShare]) -> Option<String> {
    let all: f64 = shares.iter().map(|share| share.net_rx).sum();
    let most = shares.iter().max_by(|a, b| a.net_rx.total_cmp(&b.net_rx))?;
    let even = 1.0 / shares.len() as f64;
    let part = most.net_rx / all.max(1.0);
    // Twice its even share is a skew, or four fifths where twice the share would be all.
    if shares.len() < 2 || all < LEAST_RATE || part < (even * 2.0).min(0.8) {
        return None;
    }
    Some(format!(
        "processor {} took {:.0} % of {:.0} receive softirqs a second and was {:.0} % busy, the others {:.0} %: `steelyard \
         doctor cores` computes what spreads them on this machine (RSS queues, masks of RPS and XPS, flows of RFS)",
        most.number,
        part * 100.0,
        all,
        most.busy() * 100.0,
        mean_of_others(shares, most) * 100.0,
    ))
}

fn mean_of_others(shares: &[ProcessorShare], most: &ProcessorShare) -> f64 {
    let busy = shares.iter().filter(|share| share.number != most.number).map(ProcessorShare::busy);
    busy.sum::<f64>() / (shares.len() - 1).max(1) as f64
}

/// Below this rate of receive softirqs the distribution does not matter.
const LEAST_RATE: f64 = 2_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 0 50 800 10 0 40 0 0 0\ncpu1 100 0 50 850 0 0 0 0 0 0\nintr 5\n";
    const USER_SPACE: &str = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 120 0 60 800 10 0 110 0 0 0\ncpu1 110 0 55 935 0 0 0 0 0 0\nintr 9\n";

    fn softirqs(first: u64, second: u64) -> String {
        format!(
            "                    CPU0       CPU1\n          HI:   1   2\n      NET_TX:   7   7\n      NET_RX: {first} {second}\n"
        )
    }

    #[test]
    fn shares_and_skew() {
        let before = ProcessorCounters::read(BEFORE, &softirqs(1_000, 1_000));
        let after = ProcessorCounters::read(USER_SPACE, &softirqs(10_900, 1_100));
        let shares = after.since(&before, 1.0);
        assert_eq!(shares.len(), 2);
        assert_eq!((shares[0].user, shares[0].system, shares[0].softirq), (0.2, 0.1, 0.7));
        assert_eq!((shares[0].busy(), shares[0].net_rx, shares[1].net_rx), (1.0, 9_900.0, 100.0));
        assert!((shares[1].idle - 0.85).abs() < 1e-9);
        let words = describe_skew(&shares).unwrap();
        assert!(
            words.contains("processor 0 took 99 %") && words.contains("doctor cores"),
            "{words}"
        );
        let even = after.since(&ProcessorCounters::read(BEFORE, &softirqs(6_900, 0)), 1.0);
        assert_eq!(describe_skew(&even), None, "78 and 22");
        assert_eq!(describe_skew(&shares[..1]), None, "one alone is not uneven");
    }

    #[test]
    fn other_texts_are_no_processors() {
        for text in ["", "cpu0\ncpux 1 2 3 4 5 6 7\n", "cpu0 1 2", "\0\0"] {
            assert_eq!(
                ProcessorCounters::read(text, text),
                ProcessorCounters::default(),
                "{text:?}"
            );
        }
        assert!(ProcessorCounters::default().since(&ProcessorCounters::default(), 1.0).is_empty());
    }
}
