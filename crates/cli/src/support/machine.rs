//! Facts of the machine that decide how a balancer fares: the kernel, memory, links, limits, and the sysctls that matter.
//! It runs no program and reads only files of /proc and /etc.

use std::fs::File;
use std::io::Read;

use super::archive::SupportArchive;

/// Files as they are; each is at most as large as is read.
const FILES: [(&str, &str); 9] = [
    ("kernel.txt", "/proc/version"),
    ("system.txt", "/etc/os-release"),
    ("memory.txt", "/proc/meminfo"),
    ("load.txt", "/proc/loadavg"),
    ("pressure-cpu.txt", "/proc/pressure/cpu"),
    ("links.txt", "/proc/net/dev"),
    ("sockets.txt", "/proc/net/sockstat"),
    ("tcp.txt", "/proc/net/netstat"),
    ("softirqs.txt", "/proc/net/softnet_stat"),
];
const SETTINGS: [&str; 18] = [
    "kernel/osrelease",
    "kernel/unprivileged_bpf_disabled",
    "fs/file-max",
    "fs/nr_open",
    "net/core/somaxconn",
    "net/core/netdev_max_backlog",
    "net/core/rmem_max",
    "net/core/wmem_max",
    "net/ipv4/ip_forward",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/ip_nonlocal_bind",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_fin_timeout",
    "net/ipv4/tcp_max_syn_backlog",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_tw_reuse",
    "net/ipv4/tcp_wmem",
    "net/ipv4/conf/all/rp_filter",
];
/// Bytes of one file.
/// Far above the files of /proc and /sys that are collected.
const MOST: u64 = 256 * 1_024;

/// Reads all of them; missing ones are noted.
pub fn collect(archive: &mut SupportArchive) {
    for (name, path) in FILES {
        match read(path) {
            Ok(text) => archive.add(&format!("machine/{name}"), &text),
            Err(error) => archive.note_missing(&format!("{path}: {error}")),
        }
    }
    let mut settings = String::new();
    for name in SETTINGS {
        let value = read(&format!("/proc/sys/{name}"));
        let value = value.unwrap_or_else(|error| format!("({error})"));
        settings.push_str(&format!("{} = {}\n", name.replace('/', "."), value.trim()));
    }
    archive.add("machine/sysctl.txt", &settings);
}

fn read(path: &str) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
