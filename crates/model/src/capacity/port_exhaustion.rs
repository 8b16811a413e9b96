//! The server whose ports are used up first, if connections are spread evenly by weight.
//!
//! Servers share no ports, so the server with the fewest ports for its share limits all. Sticky clients and requests of
//! unequal cost shift the shares, which is not modelled.

use std::time::Duration;

use super::demand::MachineCapacity;
use super::port_shares::{PortAllocation, TCP, UDP};
use super::ports::{LINUX_TIME_WAIT, TRANSLATED_PORTS, is_loopback, sustained_rate};
use super::quantity::PerSecond;
use crate::config::{PacketServiceConfig, PoolConfig, ServerConfig, ServerHost};

/// The ports that are used up first.
#[derive(Clone, Debug, PartialEq)]
pub struct PortExhaustion {
    /// The connections a second to all servers at which the ports are used up.
    pub rate: PerSecond,
    pub because: String,
    pub change: &'static str,
}

/// For connections that this machine opens; `life`: how long each lasts.
pub fn own_port_exhaustion(
    pool: &PoolConfig,
    machine: &MachineCapacity,
    life: Duration,
) -> Option<PortExhaustion> {
    let ports = machine.ports;
    let towards = |(server, part): (&ServerConfig, f64)| {
        // The addresses of a name are unknown here.
        let near = matches!(server.address.host, ServerHost::Ip(ip) if is_loopback(ip));
        let rest = machine.time_wait.port_rest_time(near);
        let sources = source_addresses(pool, &server.address.host);
        let rate = PerSecond(sustained_rate(ports, sources, life, rest).0 / part);
        let because = format!(
            "{ports} ports × {sources} source addresses towards {}, each held for {} s",
            describe_share(server, part),
            round_to_thousandths((life + rest).as_secs_f64())
        );
        PortExhaustion { rate, because, change: if rest < LINUX_TIME_WAIT { REUSED } else { OWN } }
    };
    // A Unix socket takes no port.
    let by_port = |(server, _): &(&ServerConfig, f64)| !server.address.host.is_unix();
    let servers = receiving_servers(pool).into_iter().filter(by_port);
    servers.map(towards).min_by(compare_exhaustion)
}

/// For translated connections; `held`: how long each occupies its port.
pub fn translated_port_exhaustion(
    made: &PortAllocation<'_>,
    packets: &PacketServiceConfig,
    pool: &PoolConfig,
    held: Duration,
) -> Option<PortExhaustion> {
    let protocol = if packets.protocols.tcp { TCP } else { UDP };
    let towards = |(server, part): (&ServerConfig, f64)| {
        let shares = made.server_shares(packets, pool, server, protocol)?;
        let unit = match (shares.fewest_ports, pool.source_client) {
            (0, _) => "no room for ports of return addresses".to_owned(),
            (_, true) => format!("{} places of connections", shares.ports),
            _ => format!("{} ports of {} return addresses", shares.ports, shares.shares),
        };
        let held = held.as_secs_f64();
        let because = format!(
            "{unit} towards {}, each held for {} s",
            describe_share(server, part),
            round_to_thousandths(held)
        );
        // More addresses would divide the same flow table.
        let change = match (shares.fewest_ports < TRANSLATED_PORTS, pool.source_client) {
            (true, _) => ROOM,
            (false, true) => SERVERS,
            (false, false) => ADDRESSES,
        };
        Some(PortExhaustion { rate: PerSecond(shares.ports as f64 / held / part), because, change })
    };
    // A server without a return address is an error of the configuration, and no such service is forwarded.
    let all: Vec<PortExhaustion> =
        receiving_servers(pool).into_iter().map(towards).collect::<Option<_>>()?;
    all.into_iter().min_by(compare_exhaustion)
}

/// Rounds for display.
pub fn round_to_thousandths(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// Servers that get connections, each with its share of them.
fn receiving_servers(pool: &PoolConfig) -> Vec<(&ServerConfig, f64)> {
    let weight = |server: &ServerConfig| f64::from(server.weight.get());
    let all = pool.servers.iter().map(AsRef::as_ref).filter(|server| weight(server) > 0.0);
    let all: Vec<&ServerConfig> = all.collect();
    let weights: f64 = all.iter().map(|server| weight(server)).sum();
    all.into_iter().map(|server| (server, weight(server) / weights)).collect()
}

fn describe_share(server: &ServerConfig, part: f64) -> String {
    format!(
        "{}, which gets {} % of the connections",
        server.name,
        round_to_thousandths(part * 100.0)
    )
}

fn compare_exhaustion(a: &PortExhaustion, b: &PortExhaustion) -> std::cmp::Ordering {
    a.rate.0.total_cmp(&b.rate.0)
}

/// Source addresses towards a server: those of its family, otherwise the one that the kernel chooses.
fn source_addresses(pool: &PoolConfig, host: &ServerHost) -> u32 {
    let of = |v4: bool| pool.source.iter().filter(|ip| ip.is_ipv4() == v4).count() as u32;
    let fit = match host {
        ServerHost::Ip(ip) => of(ip.is_ipv4()),
        // A name may resolve to either family.
        ServerHost::Name(_) if of(true) > 0 && of(false) > 0 => of(true).min(of(false)),
        ServerHost::Name(_) => of(true) + of(false),
        ServerHost::Unix(_) => 0,
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
const ADDRESSES: &str = "add addresses to `nat-source` of [packets] or `source` of the pool, add servers, or lower \
                         `fin-timeout` of the service";
