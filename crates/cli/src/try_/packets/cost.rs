//! Processor time of the whole machine, from /proc/stat.
//!
//! Packets are forwarded in the kernel's interrupts, which belong to no process: only the machine's own sum has them.

use std::time::Duration;

/// Microseconds of a tick of /proc/stat (USER_HZ is 100 on Linux).
const TICK_US: u64 = 10_000;

/// Time that all processors were busy since the start; `None` where that cannot be read.
pub fn busy() -> Option<Duration> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// Of the first line: user, nice, system, idle, iowait, irq, softirq, steal (proc(5)).
fn parse(stat: &str) -> Option<Duration> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, _, _, irq, softirq, ..] = ticks[..] else { return None };
    Some(Duration::from_micros((user + nice + system + irq + softirq) * TICK_US))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_not_busy() {
        let stat = "cpu  10 1 20 9999 50 2 7 100 0 0\ncpu0 1 2 3\n";
        assert_eq!(parse(stat), Some(Duration::from_millis(400)));
        assert_eq!(parse("cpu 1 2"), None);
        assert_eq!(parse(""), None);
    }
}
