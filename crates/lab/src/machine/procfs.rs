//! Reads facts about this machine from /proc and the kernel. Unreadable ones are left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use model::host::DescriptorLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::activity::ProcSnapshot;
use super::facts::{LocalPortRange, MachineFacts};
use super::processors::ProcessorCounters;

/// The processors' counters since boot.
pub fn read_processor_counters() -> ProcessorCounters {
    ProcessorCounters::read(&text("/proc/stat"), &text("/proc/softirqs"))
}

/// Reads everything that may change during a run.
pub fn read_proc_snapshot() -> ProcSnapshot {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter(|entry| {
        entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit)
    });
    // A process may have ended meanwhile.
    let processes = numbers.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    ProcSnapshot {
        stat: text("/proc/stat"),
        memory: text("/proc/meminfo"),
        interrupts: text("/proc/interrupts"),
        interfaces: text("/proc/net/dev"),
        processes: processes.collect(),
        owners: interrupt_owners(),
    }
}

/// The interface whose device an interrupt belongs to, or the parent device (as with virtio).
fn interrupt_owners() -> BTreeMap<u32, String> {
    let numbers = |dir: &Path| -> Vec<u32> {
        let entries = fs::read_dir(dir.join("msi_irqs")).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let mut out = BTreeMap::new();
    for entry in fs::read_dir("/sys/class/net").into_iter().flatten().flatten() {
        let Ok(device) = entry.path().join("device").canonicalize() else { continue };
        let own = numbers(&device);
        let all =
            if own.is_empty() { device.parent().map(numbers).unwrap_or_default() } else { own };
        let name = entry.file_name().to_string_lossy().into_owned();
        out.extend(all.into_iter().map(|number| (number, name.clone())));
    }
    out
}

/// Processor time of a process in seconds (proc(5), stat, fields 14 and 15, in hundredths); `None`: no such process.
pub fn process_seconds(process: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

/// Soft and hard limit for open descriptors.
pub fn descriptor_limits() -> DescriptorLimits {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let hard = maximum.unwrap_or(u64::MAX);
    DescriptorLimits { soft: current.unwrap_or(u64::MAX), hard }
}

/// Raises the soft limit for descriptors to the hard limit; `machine_facts` reports the result.
pub fn raise_descriptor_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Ignored: on failure the limit is unchanged.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

pub fn machine_facts() -> MachineFacts {
    let sysctls: BTreeMap<String, String> =
        SYSCTLS.iter().filter_map(|name| Some(((*name).to_owned(), sysctl(name)?))).collect();
    let numbers = |name: &str| -> Vec<u64> {
        let words = sysctls.get(name).into_iter().flat_map(|value| value.split_whitespace());
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let port = |at: usize, other: u16| {
        let found = numbers("net.ipv4.ip_local_port_range").get(at).copied();
        found.and_then(|port| u16::try_from(port).ok()).unwrap_or(other)
    };
    let largest = |name: &str| numbers(name).get(2).copied().unwrap_or(0);
    let kernel = |name: &str| sysctl(&format!("kernel.{name}")).unwrap_or_default();
    let ports = LocalPortRange { first: port(0, 32_768), last: port(1, 60_999) };
    let send_buffer = largest("net.ipv4.tcp_wmem");
    let receive_buffer = largest("net.ipv4.tcp_rmem");
    MachineFacts {
        host: kernel("hostname"),
        kernel: format!("{} {} {}", kernel("ostype"), kernel("osrelease"), std::env::consts::ARCH),
        processor: processor_name(),
        processors: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        descriptors: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
        open: fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64),
        ports,
        time_wait: time_wait(),
        send_buffer,
        receive_buffer,
        sysctls,
    }
}

fn processor_name() -> String {
    let cpuinfo = text("/proc/cpuinfo");
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':'))
        .map_or_else(String::new, |(_, name)| name.trim().to_owned())
}

/// `TCP: inuse 5 orphan 0 tw 17 alloc 6 mem 1`.
fn time_wait() -> u64 {
    let sockstat = text("/proc/net/sockstat");
    let line = sockstat.lines().find(|line| line.starts_with("TCP:")).unwrap_or_default();
    let mut words = line.split_whitespace().skip_while(|word| *word != "tw").skip(1);
    words.next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn sysctl(name: &str) -> Option<String> {
    let value = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
    Some(value.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Settings that affect network measurements.
const SYSCTLS: [&str; 21] = [
    "net.core.somaxconn",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_tw_reuse_delay",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_time_and_one_beyond_the_largest_number_none() {
        assert!(
            process_seconds(std::process::id()).is_some() && process_seconds(4_194_305).is_none()
        );
    }
}
