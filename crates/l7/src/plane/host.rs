//! Properties of the host that workers use: CPU cores, and the range of source ports.

/// Pins this thread to the `index`-th core that the process may use; without permission the thread is not pinned.
pub fn pin(index: usize) {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let cores: Vec<usize> =
        (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    if let Some(core) = cores.get(index % cores.len().max(1)) {
        let mut one = rustix::thread::CpuSet::new();
        one.set(*core);
        // A seccomp filter may deny the call, or the core may be offline by now: the worker then runs unpinned.
        let _ = rustix::thread::sched_setaffinity(None, &one);
    }
}

/// The size of `net.ipv4.ip_local_port_range`, both ends included. If it cannot be read: Linux's default.
pub fn port_range() -> u32 {
    let path = "/proc/sys/net/ipv4/ip_local_port_range";
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut ends = text.split_whitespace().filter_map(|end| end.parse::<u32>().ok());
    match (ends.next(), ends.next()) {
        (Some(low), Some(high)) if high >= low => high - low + 1,
        _ => 28_232,
    }
}
