//! The kernel's figures of load, as shares: from the text of /proc/stat, /proc/meminfo and /proc/loadavg. Pure.

/// What can count as load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LoadMetric {
    /// Processor time in use.
    Cpu,
    /// Memory that is not available.
    Memory,
    /// Runnable tasks for each processor.
    RunQueue,
}

/// Processor time so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// At work, in ticks.
    pub busy: u64,
    pub total: u64,
    /// How many processors there are.
    pub count: u32,
}

pub fn parse_processor_time(stat: &str) -> Option<ProcessorTime> {
    let all = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = all.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guests are within user (proc(5)).
    let total = ticks.iter().take(8).sum();
    let idle: u64 = ticks.get(3)? + ticks.get(4).copied().unwrap_or_default();
    let one = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|l| l.starts_with(|c: char| c.is_ascii_digit()))
    };
    let count = stat.lines().filter(one).count();
    Some(ProcessorTime {
        busy: u64::saturating_sub(total, idle),
        total,
        count: u32::try_from(count).unwrap_or(u32::MAX).max(1),
    })
}

/// The share in use between two looks.
pub fn cpu_share(before: ProcessorTime, after: ProcessorTime) -> Option<f64> {
    let total = after.total.checked_sub(before.total).filter(|total| *total > 0)?;
    let busy = after.busy.saturating_sub(before.busy);
    Some((busy as f64 / total as f64).clamp(0.0, 1.0))
}

/// Reads /proc/meminfo: the share that is not available.
pub fn memory_share(meminfo: &str) -> Option<f64> {
    let of = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    let total = of("MemTotal:")?;
    let available = of("MemAvailable:")?;
    (total > 0.0).then(|| (1.0 - available / total).clamp(0.0, 1.0))
}

/// Reads /proc/loadavg: tasks that run or want to, ourselves not counted, for each processor.
pub fn run_queue_share(loadavg: &str, processors: u32) -> Option<f64> {
    let running: f64 = loadavg.split_whitespace().nth(3)?.split('/').next()?.parse().ok()?;
    Some(((running - 1.0).max(0.0) / f64::from(processors.max(1))).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read() {
        let text = |busy: u64, idle: u64| {
            format!("cpu  {busy} 0 0 {idle} 0 0 0 0 9 9\ncpu0 1\ncpu1 1\nintr 5\n")
        };
        let before = parse_processor_time(&text(100, 900)).unwrap();
        let after = parse_processor_time(&text(130, 970)).unwrap();
        assert_eq!(before.count, 2);
        assert_eq!(cpu_share(before, after), Some(0.3));
        assert_eq!(cpu_share(after, after), None, "no time has passed");
        assert_eq!(cpu_share(after, before), None, "counters never run backwards");
        assert_eq!(
            memory_share("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n"),
            Some(0.75)
        );
        assert_eq!(run_queue_share("0.1 0.2 0.3 3/500 77\n", 4), Some(0.5));
        for rubbish in ["", "cpu", "cpu x", "MemTotal:", "0.1 0.2 0.3 /"] {
            assert_eq!(
                (parse_processor_time(rubbish), memory_share(rubbish), run_queue_share(rubbish, 1)),
                (None, None, None)
            );
        }
    }
}
