//! Finds the processes that listen on a port, as far as /proc shows them to this user. Used only for error messages.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Most descriptors checked before giving up.
/// A host with a million descriptors must not delay an error message by many seconds.
const LINKS: usize = 500_000;
/// Most processes that the error message names; more would not help the reader.
const NAMED: usize = 4;
const LISTEN: &str = "0A";

/// A listening process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortHolder {
    pub pid: u32,
    pub name: String,
}

impl fmt::Display for PortHolder {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} (process {})", self.name, self.pid)
    }
}

/// The processes that listen on an address that conflicts with `address`. Empty if there are none, or if /proc does not
/// show them.
pub(super) fn find_holders(address: SocketAddr) -> Vec<PortHolder> {
    let mut sockets = BTreeSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        if let Ok(text) = std::fs::read_to_string(table) {
            sockets.extend(inodes(&text, address));
        }
    }
    if sockets.is_empty() { Vec::new() } else { processes(&sockets) }
}

/// Inodes of the listening sockets in a table that conflict with `address`.
fn inodes(table: &str, address: SocketAddr) -> Vec<u64> {
    let in_the_way = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let local = endpoint(fields.nth(1)?)?;
        let listens = fields.nth(1)? == LISTEN;
        let inode = fields.nth(5)?.parse().ok()?;
        let same = local.port() == address.port() && overlap(local.ip(), address.ip());
        (listens && same).then_some(inode)
    };
    table.lines().skip(1).filter_map(in_the_way).collect()
}

/// Whether two listening addresses conflict: they are equal, or one is a wildcard. An IPv6 wildcard conflicts with IPv4
/// too, unless the socket is IPv6-only, which the table does not show.
fn overlap(a: IpAddr, b: IpAddr) -> bool {
    let a = a.to_canonical();
    let b = b.to_canonical();
    a == b || a.is_unspecified() || b.is_unspecified()
}

/// Parses an address of /proc/net/tcp: words in host order, port in network order, all in hexadecimal.
fn endpoint(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // The 16 bytes of an IPv6 address; an IPv4 address fills four of them.
    let mut bytes = Vec::with_capacity(16);
    for at in (0..ip.len()).step_by(8) {
        let word = u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?;
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

fn processes(sockets: &BTreeSet<u64>) -> Vec<PortHolder> {
    let mut found = BTreeSet::new();
    let mut left = LINKS;
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    for process in all.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if found.len() == NAMED || left == 0 {
            break;
        }
        if has_socket(&process.path(), sockets, &mut left) {
            let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            found.insert(PortHolder { pid, name: name.trim().to_owned() });
        }
    }
    found.into_iter().collect()
}

fn has_socket(process: &Path, sockets: &BTreeSet<u64>, left: &mut usize) -> bool {
    let Ok(links) = std::fs::read_dir(process.join("fd")) else { return false };
    for link in links.flatten() {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        let Ok(target) = std::fs::read_link(link.path()) else { continue };
        let inode = target.as_os_str().as_bytes().strip_prefix(b"socket:[");
        let inode = inode.and_then(|rest| rest.strip_suffix(b"]"));
        let inode = inode.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        if inode.is_some_and(|inode: u64| sockets.contains(&inode)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_in_both_families() {
        assert_eq!(endpoint("0100007F:1F90"), Some("127.0.0.1:8080".parse().unwrap()));
        assert_eq!(
            endpoint("00000000000000000000000001000000:0050"),
            Some("[::1]:80".parse().unwrap())
        );
        for odd in ["", "0100007F", "0100007:1F90", "xx00007F:1F90", "0100007F0100007F:1"] {
            assert_eq!(endpoint(odd), None, "{odd}");
        }
    }

    #[test]
    fn only_listening_sockets_in_the_way_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 x\n\
            1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 12 1 x\n\
            2: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1 x\n\
            3: 0200007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14 1 x\n\
            4: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 15 1 x\n\
            5: broken\n";
        assert_eq!(inodes(table, "127.0.0.1:8080".parse().unwrap()), [11, 13]);
        assert_eq!(inodes(table, "0.0.0.0:8080".parse().unwrap()), [11, 13, 14]);
        assert_eq!(inodes(table, "127.0.0.1:80".parse().unwrap()), [] as [u64; 0]);
    }
}
