//! Facts of this machine that a plan needs: who uses which address, what time it is. Reads `/proc`, decides nothing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::config::Config;

/// The tables of sockets, with the protocol of each.
const TABLES: [(&str, &str); 4] = [
    ("/proc/net/tcp", "TCP"),
    ("/proc/net/tcp6", "TCP"),
    ("/proc/net/udp", "UDP"),
    ("/proc/net/udp6", "UDP"),
];

/// Return addresses of a configuration.
pub fn return_addresses(config: &Config) -> BTreeSet<IpAddr> {
    let nat = config.services.values().filter(|service| {
        service.forward == model::config::ForwardingMode::Nat && service.packets.is_some()
    });
    let mut pools: BTreeSet<&str> = BTreeSet::new();
    for service in nat {
        pools.insert(&service.pool);
        let rules = service.packets.iter().flat_map(|packets| &packets.rules);
        pools.extend(rules.map(|rule| rule.pool.as_str()));
    }
    let mut out = BTreeSet::new();
    for pool in pools.into_iter().filter_map(|name| config.pools.get(name)) {
        if pool.source_client {
            continue;
        }
        let own = if pool.source.is_empty() { &config.packets.returns } else { &pool.source };
        out.extend(own.iter().copied());
    }
    out
}

/// Addresses that this machine shares with others.
pub fn shared_addresses(config: &Config) -> HashSet<IpAddr> {
    config.vrrp.values().flat_map(|group| group.floating_addresses().map(|(ip, _)| ip)).collect()
}

/// Those of these addresses on which this host has sockets, with the kinds of sockets.
pub fn addresses_in_use(addresses: &BTreeSet<IpAddr>) -> HashMap<IpAddr, String> {
    let mut out = HashMap::new();
    if addresses.is_empty() {
        return out;
    }
    for (path, protocol) in TABLES {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        for (ip, port) in text.lines().skip(1).filter_map(local) {
            if addresses.contains(&ip) {
                out.entry(ip).or_insert_with(|| format!("a {protocol} socket at port {port}"));
            }
        }
    }
    out
}

/// The local address and port of a line of /proc/net/tcp (proc_net_tcp in the kernel's documentation): words in host
/// byte order.
fn local(line: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = line.split_ascii_whitespace().nth(1)?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok();
    let ip = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        32 => {
            let mut bytes = [0; 16];
            for at in 0..4 {
                bytes[at * 4..at * 4 + 4].copy_from_slice(&word(at)?.to_ne_bytes());
            }
            IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some((ip, port))
}

/// Minutes since 1970 in local time; `offset` returns the difference to UTC at a moment.
pub fn local_minute(now: SystemTime, offset: fn(i64) -> i64) -> i64 {
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let utc = i64::try_from(seconds).unwrap_or(0);
    (utc + offset(utc)).div_euclid(60)
}

/// The datapath's clock in ticks.
pub fn clock_tick() -> u32 {
    u32::try_from(clock_nanos() >> l4::abi::TICK_SHIFT).unwrap_or_default()
}

/// The same in nanoseconds.
pub fn clock_nanos() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = Duration::from_secs(u64::try_from(now.tv_sec).unwrap_or_default());
    let nanos = seconds + Duration::from_nanos(u64::try_from(now.tv_nsec).unwrap_or_default());
    u64::try_from(nanos.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_sockets() {
        let line =
            "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1";
        assert_eq!(local(line), Some(("127.0.0.1".parse().unwrap(), 8080)));
        let line = "   1: 00000000000000000000000001000000:0050 0:0 0A";
        assert_eq!(local(line), Some(("::1".parse().unwrap(), 80)));
        assert_eq!(local("nonsense"), None);
    }

    #[test]
    fn minutes_of_local_time() {
        let days = 3 * 24 * 60;
        let at = UNIX_EPOCH + Duration::from_secs(86_400 * 3 + 3_660);
        assert_eq!(local_minute(at, |_| 0), days + 61);
        assert_eq!(local_minute(at, |_| 7_200), days + 181);
        assert_eq!(local_minute(at, |_| -7_200), days - 59);
    }
}
