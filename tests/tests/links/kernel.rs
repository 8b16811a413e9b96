//! The kernels' TCP counters during a stream, and the idle processor time, which shows whether packets or processors
//! are the limit.

use std::fmt;

use lab::net::NetworkNamespace;

/// Counters of the sender's host, the receiver's host and the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelCounters {
    /// Segments that were sent.
    sent: u64,
    /// Segments that were retransmitted.
    retransmitted: u64,
    /// Retransmitted segments that had already arrived, according to the receiver.
    spurious: u64,
    /// Segments that arrived before an earlier one.
    out_of_order: u64,
    /// The time of all CPUs in the kernel's ticks, and the idle part of it.
    time: u64,
    idle: u64,
}

impl KernelCounters {
    pub fn read(sender: &NetworkNamespace, receiver: &NetworkNamespace) -> KernelCounters {
        let read = |file: &str| std::fs::read_to_string(file).unwrap();
        let own = |file: &str| read(&format!("/proc/thread-self/net/{file}"));
        let (snmp, netstat) = sender.run_inside(|| (own("snmp"), own("netstat"))).unwrap();
        let there = receiver.run_inside(|| own("netstat")).unwrap();
        let all = read("/proc/stat");
        let times = all.lines().next().unwrap().split_whitespace().skip(1).take(8);
        let times: Vec<u64> = times.map(|ticks| ticks.parse().unwrap()).collect();
        KernelCounters {
            sent: named(&snmp, "Tcp:", "OutSegs"),
            retransmitted: named(&snmp, "Tcp:", "RetransSegs"),
            spurious: named(&netstat, "TcpExt:", "TCPDSACKRecvSegs"),
            out_of_order: named(&there, "TcpExt:", "TCPOFOQueue"),
            time: times.iter().sum(),
            // Idle time, and idle time while waiting for disks.
            idle: times[3] + times[4],
        }
    }

    pub fn since(self, before: KernelCounters) -> KernelCounters {
        KernelCounters {
            sent: self.sent - before.sent,
            retransmitted: self.retransmitted - before.retransmitted,
            spurious: self.spurious - before.spurious,
            out_of_order: self.out_of_order - before.out_of_order,
            time: self.time - before.time,
            idle: self.idle - before.idle,
        }
    }
}

impl fmt::Display for KernelCounters {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |of: u64, all: u64| of as f64 * 100.0 / all.max(1) as f64;
        write!(
            out,
            "{:.0} % came early, {} of {} sent again, {} of them needlessly, processors {:.0} % idle",
            part(self.out_of_order, self.sent),
            self.retransmitted,
            self.sent,
            self.spurious,
            part(self.idle, self.time)
        )
    }
}

/// The number in the column `word` of a pair of lines that begin with `kind`.
fn named(text: &str, kind: &str, word: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.starts_with(kind));
    let (Some(words), Some(numbers)) = (lines.next(), lines.next()) else { return 0 };
    let at = words.split(' ').position(|one| one == word);
    at.and_then(|at| numbers.split(' ').nth(at)?.parse().ok()).unwrap_or(0)
}
