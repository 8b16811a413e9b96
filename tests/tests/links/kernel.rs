//! What kernels count of TCP while a stream runs, and what is left of the machine: whether packets or processors limit it.

use std::fmt;

use lab::net::Namespace;

/// What was counted: of the sender's host, of the receiver's, of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel {
    /// Segments that were sent.
    sent: u64,
    /// Segments that were sent again.
    again: u64,
    /// Of those, segments that had arrived, as the receiver told.
    needless: u64,
    /// Segments that came before one that was sent earlier.
    early: u64,
    /// Time of all processors, and of that the idle part, in the kernel's ticks.
    time: u64,
    idle: u64,
}

impl Kernel {
    /// As it stands.
    pub fn of(sender: &Namespace, receiver: &Namespace) -> Kernel {
        let read = |file: &str| std::fs::read_to_string(file).unwrap();
        let own = |file: &str| read(&format!("/proc/thread-self/net/{file}"));
        let (snmp, netstat) = sender.within(|| (own("snmp"), own("netstat"))).unwrap();
        let there = receiver.within(|| own("netstat")).unwrap();
        let all = read("/proc/stat");
        let times = all.lines().next().unwrap().split_whitespace().skip(1).take(8);
        let times: Vec<u64> = times.map(|ticks| ticks.parse().unwrap()).collect();
        Kernel {
            sent: named(&snmp, "Tcp:", "OutSegs"),
            again: named(&snmp, "Tcp:", "RetransSegs"),
            needless: named(&netstat, "TcpExt:", "TCPDSACKRecvSegs"),
            early: named(&there, "TcpExt:", "TCPOFOQueue"),
            time: times.iter().sum(),
            // Idle, and idle while disks work.
            idle: times[3] + times[4],
        }
    }

    /// What came since.
    pub fn since(self, before: Kernel) -> Kernel {
        Kernel {
            sent: self.sent - before.sent,
            again: self.again - before.again,
            needless: self.needless - before.needless,
            early: self.early - before.early,
            time: self.time - before.time,
            idle: self.idle - before.idle,
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |of: u64, all: u64| of as f64 * 100.0 / all.max(1) as f64;
        write!(
            out,
            "{:.0} % came early, {} of {} sent again, {} of them needlessly, processors {:.0} % idle",
            part(self.early, self.sent),
            self.again,
            self.sent,
            self.needless,
            part(self.idle, self.time)
        )
    }
}

/// The number below a word of the two lines that begin alike.
fn named(text: &str, kind: &str, word: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.starts_with(kind));
    let (Some(words), Some(numbers)) = (lines.next(), lines.next()) else { return 0 };
    let at = words.split(' ').position(|one| one == word);
    at.and_then(|at| numbers.split(' ').nth(at)?.parse().ok()).unwrap_or(0)
}
