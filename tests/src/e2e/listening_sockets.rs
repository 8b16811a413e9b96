//! The listening sockets of a process, identified by their inode numbers.
//!
//! The sockets are read from /proc. Sockets of other users' processes are not visible.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;

/// Inode numbers of sockets by port.
pub type SocketsByPort = BTreeMap<u16, BTreeSet<u64>>;

/// All listening sockets of this process.
pub fn listening(pid: u32) -> SocketsByPort {
    let own: BTreeSet<u64> = links(pid).iter().filter_map(|link| number(link)).collect();
    let mut found = SocketsByPort::new();
    for table in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for (port, number) in text.lines().skip(1).filter_map(row) {
            if own.contains(&number) {
                found.entry(port).or_default().insert(number);
            }
        }
    }
    found
}

/// The sockets of a process that listen on this address.
pub fn listening_at(pid: u32, address: SocketAddr) -> BTreeSet<u64> {
    listening(pid).remove(&address.port()).unwrap_or_default()
}

fn links(pid: u32) -> Vec<String> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let targets = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.map(|target| target.to_string_lossy().into_owned()).collect()
}

fn number(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Port and inode number of a listening socket's row (proc(5), /proc/net/tcp: state 0A).
fn row(line: &str) -> Option<(u16, u64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if *fields.get(3)? != "0A" {
        return None;
    }
    let port = u16::from_str_radix(fields.get(1)?.rsplit(':').next()?, 16).ok()?;
    Some((port, fields.get(9)?.parse().ok()?))
}
