//! Which server's ports are used up first, where each gets its share of the connections: by weights, as if evenly spread.
//!
//! Servers share no ports, so the one with the fewest for what it gets is the limit of all. Clients that stick to a server
//! or requests of unequal cost shift the shares; nothing is known of them here.

use std::time::Duration;

use super::demand::Machine;
use super::ports::{LINUX_TIME_WAIT, TRANSLATED_PORTS, is_loopback, sustained};
use super::quantity::PerSecond;
use super::shares::{Made, TCP, UDP};
use crate::config::{Host, PacketService, Pool, Server};

/// Where ports are used up first.
#[derive(Clone, Debug, PartialEq)]
pub struct First {
    /// Connections a second towards all servers at which they are.
    pub rate: PerSecond,
    /// The arithmetic.
    pub because: String,
    /// What raises it.
    pub change: &'static str,
}

/// Of connections that this machine opens itself; `life`: how long each lasts.
pub fn own(pool: &Pool, machine: &Machine, life: Duration) -> Option<First> {
    let ports = machine.ports;
    let towards = |(server, part): (&Server, f64)| {
        // What a name comes to is not known here.
        let near = matches!(server.address.host, Host::Ip(ip) if is_loopback(ip));
        let rest = machine.time_wait.rest(near);
        let sources = sources(pool, &server.address.host);
        let rate = PerSecond(sustained(ports, sources, life, rest).0 / part);
        let because = format!(
            "{ports} ports × {sources} source addresses towards {}, each held for {} s",
            getting(server, part),
            rounded((life + rest).as_secs_f64())
        );
        First { rate, because, change: if rest < LINUX_TIME_WAIT { REUSED } else { OWN } }
    };
    takers(pool).into_iter().map(towards).min_by(sooner)
}

/// Of connections that are translated; `held`: how long each has its port.
pub fn translated(
    made: &Made<'_>,
    packets: &PacketService,
    pool: &Pool,
    held: Duration,
) -> Option<First> {
    let protocol = if packets.protocols.tcp { TCP } else { UDP };
    let towards = |(server, part): (&Server, f64)| {
        let found = made.towards(packets, (pool, server), protocol)?;
        let what = match (found.fewest, pool.source_client) {
            (0, _) => "no room for ports of return addresses".to_owned(),
            (_, true) => format!("{} places of connections", found.ports),
            _ => format!("{} ports of {} return addresses", found.ports, found.shares),
        };
        let held = held.as_secs_f64();
        let because =
            format!("{what} towards {}, each held for {} s", getting(server, part), rounded(held));
        // More addresses would have the same room between them.
        let change = match (found.fewest < TRANSLATED_PORTS, pool.source_client) {
            (true, _) => ROOM,
            (false, true) => SERVERS,
            (false, false) => ADDRESSES,
        };
        Some(First { rate: PerSecond(found.ports as f64 / held / part), because, change })
    };
    // A server without an address to answer to is an error of the configuration, and no service without it is forwarded.
    let all: Vec<First> = takers(pool).into_iter().map(towards).collect::<Option<_>>()?;
    all.into_iter().min_by(sooner)
}

/// To be read: thousandths are enough.
pub fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// Servers that get connections, each with its share of them.
fn takers(pool: &Pool) -> Vec<(&Server, f64)> {
    let weight = |server: &Server| f64::from(server.weight.get());
    let all = pool.servers.iter().map(AsRef::as_ref).filter(|one| weight(one) > 0.0);
    let all: Vec<&Server> = all.collect();
    let weights: f64 = all.iter().map(|one| weight(one)).sum();
    all.into_iter().map(|one| (one, weight(one) / weights)).collect()
}

fn getting(server: &Server, part: f64) -> String {
    format!("{}, which gets {} % of the connections", server.name, rounded(part * 100.0))
}

fn sooner(a: &First, b: &First) -> std::cmp::Ordering {
    a.rate.0.total_cmp(&b.rate.0)
}

/// Addresses that connections to a server may come from: those of its family, else the one that the kernel chooses.
fn sources(pool: &Pool, host: &Host) -> u32 {
    let of = |v4: bool| pool.source.iter().filter(|ip| ip.is_ipv4() == v4).count() as u32;
    let fit = match host {
        Host::Ip(ip) => of(ip.is_ipv4()),
        // A name may turn out to be of either family.
        Host::Name(_) if of(true) > 0 && of(false) > 0 => of(true).min(of(false)),
        Host::Name(_) => of(true) + of(false),
    };
    fit.max(1)
}

const REUSED: &str = "widen net.ipv4.ip_local_port_range, add addresses to `source` of the pool, or keep connections to \
                      servers longer";
const OWN: &str = "widen net.ipv4.ip_local_port_range, add addresses to `source` of the pool, keep connections to servers \
                   longer, or let ports be taken again after a second (net.ipv4.tcp_tw_reuse=1, which needs time stamps at \
                   both ends)";
const ROOM: &str = "raise `flows` of [packets], of which ports of return addresses are made, or lower `fin-timeout` of \
                    the service";
const SERVERS: &str = "add servers, or lower `fin-timeout` of the service";
const ADDRESSES: &str = "add addresses to `return` of [packets] or `source` of the pool, add servers, or lower \
                         `fin-timeout` of the service";
