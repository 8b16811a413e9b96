//! Processor time of this process' workers, as the kernel keeps it for each thread. It counts nothing itself.

use std::fs;

/// CPU time of workers in nanoseconds, from /proc/self/task/*/schedstat; `None`: the kernel does not report it, or
/// there is no worker.
pub fn worker_cpu_nanos() -> Option<u64> {
    let tasks = fs::read_dir("/proc/self/task").ok()?.filter_map(Result::ok);
    let each = tasks.filter_map(|task| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        name.starts_with("worker-").then_some(())?;
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    each.reduce(u64::saturating_add)
}
