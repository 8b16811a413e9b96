//! Source ports that rest in TIME_WAIT, as the kernel lists them (sock_diag). It decides nothing.
//!
//! A list of tens of thousands takes the kernel milliseconds: it is read on a thread for what blocks, and the longer that took
//! the later again.

mod sock_diag;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::time::Instant;

use l7::TimeWaitPorts;
use model::capacity::ports::{LINUX_TIME_WAIT, TimeWaitPolicy, is_loopback};

use crate::util::host_capacity;
use sock_diag::TimeWaitSocket;

/// After a scan, the next one waits for its duration times this factor: scans take at most 0.4 % of one core. Ports
/// rest for a minute, so a list that is a few seconds old still warns in time.
const SCAN_COST_FACTOR: u32 = 250;
/// Bounds the sockets read by one scan; the kernel stores no more by default (tcp_max_tw_buckets).
const MAX_SOCKETS: usize = 1 << 20;

/// When to look, and how long that takes.
#[derive(Debug, Default)]
pub struct TimeWaitScanner {
    next_scan_at: Option<Instant>,
    /// Nothing rested when it was looked last.
    was_empty: bool,
}

impl TimeWaitScanner {
    /// The ports in TIME_WAIT; `None`: nothing new is known.
    pub async fn scan(&mut self) -> Option<TimeWaitPorts> {
        let begun = Instant::now();
        if self.next_scan_at.is_some_and(|at| begun < at) {
            return None;
        }
        // One line of text shows whether there is anything to list.
        if waiting() == Some(0) {
            let was = std::mem::replace(&mut self.was_empty, true);
            return (!was).then(TimeWaitPorts::new);
        }
        let listed = tokio::task::spawn_blocking(list).await;
        self.next_scan_at = Some(Instant::now() + begun.elapsed() * SCAN_COST_FACTOR);
        self.was_empty = false;
        // Where the kernel does not support it, only open connections are known.
        listed.ok()?.ok()
    }
}

/// Connections in TIME_WAIT in this network namespace.
fn waiting() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/net/sockstat").ok()?;
    let tcp = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = tcp.split_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

fn list() -> io::Result<TimeWaitPorts> {
    let range = host_capacity::local_port_range();
    let rule = host_capacity::time_wait();
    let mut found = TimeWaitPorts::new();
    let mut left = MAX_SOCKETS;
    sock_diag::for_each_time_wait(|rest| {
        if range.contains(&rest.local.port()) {
            add(&mut found, rest, rule);
        }
        left = left.saturating_sub(1);
        left > 0
    })?;
    Ok(found)
}

/// Counts a port, unless the kernel would give it to a new connection already.
fn add(found: &mut TimeWaitPorts, rest: TimeWaitSocket, rule: TimeWaitPolicy) {
    let canonical = |ip: IpAddr| ip.to_canonical();
    let age = LINUX_TIME_WAIT.saturating_sub(rest.remaining);
    if age >= rule.port_rest_time(is_loopback(rest.remote.ip())) && !rest.remaining.is_zero() {
        return;
    }
    let to = (canonical(rest.remote.ip()), rest.remote.port()).into();
    let by: &mut HashMap<IpAddr, u32> = found.entry(to).or_default();
    *by.entry(canonical(rest.local.ip())).or_default() += 1;
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use super::*;

    fn rest(from: &str, to: &str, left: u64) -> TimeWaitSocket {
        let [from, to] = [from, to].map(|text| text.parse().unwrap());
        TimeWaitSocket { local: from, remote: to, remaining: Duration::from_secs(left) }
    }

    #[test]
    fn a_port_rests_as_long_as_the_kernel_gives_it_to_nobody() {
        let rule = |reuse| TimeWaitPolicy::from_sysctls(Some(reuse), Some(1), Some(1_000));
        let near = "127.0.0.1:80";
        let far = "192.0.2.1:80";
        // The setting, whereto, seconds that it has still to rest, whether it counts.
        let rows = [
            (0, far, 60, true),
            (0, far, 1, true),
            (1, far, 60, true),
            (1, far, 58, false),
            (2, far, 58, true),
            (2, near, 58, false),
            (2, near, 60, true),
        ];
        for (reuse, to, left, counts) in rows {
            let mut found = TimeWaitPorts::new();
            add(&mut found, rest("127.0.0.1:40000", to, left), rule(reuse));
            assert_eq!(!found.is_empty(), counts, "{reuse} {to} {left}");
        }
    }

    #[test]
    fn ports_are_counted_by_both_addresses() {
        let mut found = TimeWaitPorts::new();
        let rule = TimeWaitPolicy::WHOLE;
        for (from, to) in [
            ("10.0.0.9:40000", "10.0.0.1:80"),
            ("10.0.0.9:40001", "10.0.0.1:80"),
            ("[::ffff:10.0.0.9]:40002", "[::ffff:10.0.0.1]:80"),
            ("10.0.0.8:40000", "10.0.0.1:80"),
            ("10.0.0.9:40000", "10.0.0.1:81"),
        ] {
            add(&mut found, rest(from, to, 30), rule);
        }
        let to: SocketAddr = "10.0.0.1:80".parse().unwrap();
        let by = |ip: &str| found[&to][&ip.parse::<IpAddr>().unwrap()];
        assert_eq!((found.len(), by("10.0.0.9"), by("10.0.0.8")), (2, 3, 1));
    }

    #[test]
    fn the_kernel_lists_what_rests_here() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let to = server.local_addr().unwrap();
        let begun = Instant::now();
        let mut seen = false;
        // The side that closes first gets the port in TIME_WAIT.
        let client = std::net::TcpStream::connect(to).unwrap();
        let from = client.local_addr().unwrap();
        let (accepted, _) = server.accept().unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        drop(accepted);
        drop(client);
        while !seen && begun.elapsed() < Duration::from_secs(10) {
            sock_diag::for_each_time_wait(|rest| {
                seen |=
                    rest.local == from && rest.remote == to && rest.remaining <= LINUX_TIME_WAIT;
                true
            })
            .unwrap();
        }
        assert!(seen, "{from} towards {to} is not listed");
        assert!(waiting().unwrap() > 0);
    }
}
