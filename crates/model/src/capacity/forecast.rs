//! The limits of a configuration on a machine with a given demand, in the order in which they are reached.
//!
//! Limits of different kinds are compared by the requests a second at which each is reached. Each service is forecast
//! as if it ran alone; services that share a limit share it.

use std::time::Duration;

use serde::Serialize;

use super::demand::{MachineCapacity, TrafficDemand};
use super::path;
use super::port_exhaustion::{self, PortExhaustion, round_to_thousandths};
use super::port_shares::PortAllocation;
use super::quantity::{BitRate, ByteCount, PerSecond};
use super::replication_traffic::{
    RecordSizes, ReplicationTraffic, estimate_replication, refresh_interval, shortest_timeout,
};
use super::wire::{self, Duplex};
use crate::config::{Config, ForwardingMode, PacketServiceConfig, PoolConfig, ServiceConfig};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceForecast {
    pub service: String,
    pub forward: ForwardingMode,
    /// Limits, the one that is reached first at the front.
    pub limits: Vec<ForecastLimit>,
    /// The throughput of one connection over the stated round trip.
    pub path: Option<PathForecast>,
    /// Traffic to replicate the flows to another member at the first limit; of services that forward packets and
    /// replicate.
    pub replication: Option<ReplicationTraffic>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ForecastLimit {
    pub kind: LimitKind,
    /// Requests a second at which the limit is reached.
    pub requests_per_second: PerSecond,
    /// Client connections a second at which the limit is reached.
    pub connections_per_second: PerSecond,
    pub because: String,
    /// The change that raises the limit.
    pub change: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    Ports,
    Flows,
    /// Client connections at a time.
    Connections,
    Descriptors,
    Bandwidth,
    /// A limit in the configuration.
    Cap,
    Processors,
}

impl LimitKind {
    pub fn name(self) -> &'static str {
        match self {
            LimitKind::Ports => "ports",
            LimitKind::Flows => "flows",
            LimitKind::Connections => "connections",
            LimitKind::Descriptors => "descriptors",
            LimitKind::Bandwidth => "bandwidth",
            LimitKind::Cap => "cap",
            LimitKind::Processors => "processors",
        }
    }
}

/// One connection over a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PathForecast {
    /// Bytes in flight when the link is full.
    pub product: Option<ByteCount>,
    /// The rate that the send buffer allows one connection.
    pub allowed: BitRate,
    /// The rate that the receive buffer allows one connection.
    pub allowed_in: BitRate,
    /// The rate that an unscaled window (65,535 bytes) allows.
    pub unscaled: BitRate,
    /// Payload is half of the kernel's buffer at worst, the rest is bookkeeping: the window to count on.
    pub window: ByteCount,
}

pub fn forecast_services(
    config: &Config,
    demand: &TrafficDemand,
    machine: &MachineCapacity,
) -> Vec<ServiceForecast> {
    let made = PortAllocation::allocate(config);
    config
        .services
        .values()
        .map(|service| forecast_service(&made, service, demand, machine))
        .collect()
}

/// Forecasts one service, with the ports of return addresses of all services.
pub fn forecast_service(
    made: &PortAllocation<'_>,
    service: &ServiceConfig,
    demand: &TrafficDemand,
    machine: &MachineCapacity,
) -> ServiceForecast {
    let config = made.config;
    let pool = config.pools.get(&service.pool).map(AsRef::as_ref);
    let scene = ForecastContext { config, allocation: made, service, pool, demand, machine };
    let mut limits = match &service.packets {
        Some(packets) => scene.packet_limits(packets),
        None => scene.proxy_limits(),
    };
    limits.extend(scene.bandwidth_limit());
    limits.sort_by(|a, b| a.requests_per_second.0.total_cmp(&b.requests_per_second.0));
    let path =
        demand.round_trip.filter(|time| !time.is_zero()).map(|time| forecast_path(machine, time));
    let replication = limits.first().and_then(|first| scene.replication_traffic(first));
    ServiceForecast {
        service: service.name.clone(),
        forward: service.forward,
        limits,
        path,
        replication,
    }
}

fn forecast_path(machine: &MachineCapacity, round_trip: Duration) -> PathForecast {
    let window = ByteCount(machine.send_buffer.0 / 2.0);
    PathForecast {
        product: machine.link.map(|link| path::bandwidth_delay_product(link, round_trip)),
        allowed: path::window_limited_rate(window, round_trip),
        allowed_in: path::window_limited_rate(
            ByteCount(machine.receive_buffer.0 / 2.0),
            round_trip,
        ),
        unscaled: path::window_limited_rate(ByteCount(65_535.0), round_trip),
        window,
    }
}

struct ForecastContext<'a> {
    config: &'a Config,
    allocation: &'a PortAllocation<'a>,
    service: &'a ServiceConfig,
    pool: Option<&'a PoolConfig>,
    demand: &'a TrafficDemand,
    machine: &'a MachineCapacity,
}

impl ForecastContext<'_> {
    /// A limit of client connections a second.
    fn connection_limit(
        &self,
        kind: LimitKind,
        rate: PerSecond,
        because: String,
        change: &str,
    ) -> ForecastLimit {
        let requests_per_second = PerSecond(rate.0 * self.demand.per_connection);
        let change = change.to_owned();
        ForecastLimit { kind, requests_per_second, connections_per_second: rate, because, change }
    }

    /// A limit of requests a second.
    fn request_limit(
        &self,
        kind: LimitKind,
        rate: PerSecond,
        because: String,
        change: &str,
    ) -> ForecastLimit {
        let connections_per_second = PerSecond(rate.0 / self.demand.per_connection);
        let change = change.to_owned();
        ForecastLimit { kind, requests_per_second: rate, connections_per_second, because, change }
    }

    /// A limit of concurrent connections: each occupies a place for its lifetime (Little's law).
    fn concurrency_limit(
        &self,
        kind: LimitKind,
        places: u64,
        rest: Duration,
        unit: &str,
        change: &str,
    ) -> ForecastLimit {
        let held = (self.demand.life + rest).as_secs_f64();
        let because = format!("{places} {unit}, each held for {} s", round_to_thousandths(held));
        self.connection_limit(kind, PerSecond(places as f64 / held), because, change)
    }

    fn proxy_limits(&self) -> Vec<ForecastLimit> {
        let mut limits = Vec::new();
        let own = self.service.limit.connections;
        if let Some(most) = own.or(self.config.global.connections) {
            let key = if own.is_some() {
                "limit.connections of the service"
            } else {
                "global.connections"
            };
            let change = format!("raise {key}");
            let places = u64::from(most);
            limits.push(self.concurrency_limit(
                LimitKind::Connections,
                places,
                Duration::ZERO,
                "connections of clients at a time",
                &change,
            ));
        }
        // Each client connection has a connection to a server.
        let pairs = self.machine.descriptors / 2;
        let change = "raise the limit of open files (LimitNOFILE= of the unit, or ulimit -n)";
        limits.push(self.concurrency_limit(
            LimitKind::Descriptors,
            pairs,
            Duration::ZERO,
            "pairs of descriptors",
            change,
        ));
        limits.extend(self.server_port_limit());
        if let Some(cost) = self.machine.cost {
            let workers = self.config.global.workers.map_or(self.machine.processors, u32::from);
            let used = workers.min(self.machine.processors);
            let each = cost.exchange_us(self.demand);
            let because = format!("{used} workers, {each:.1} µs of processor time a request");
            let rate = PerSecond(f64::from(used) * 1e6 / each);
            let change = "more workers and processors; fewer connections for the same requests";
            limits.push(self.request_limit(LimitKind::Processors, rate, because, change));
        }
        limits
    }

    fn server_port_limit(&self) -> Option<ForecastLimit> {
        let proxied = self.service.forward == ForwardingMode::Tcp;
        let (each, life) = if proxied {
            (self.demand.per_connection, self.demand.life)
        } else {
            (self.demand.per_server_connection, Duration::ZERO)
        };
        let PortExhaustion { rate, because, change } =
            port_exhaustion::own_port_exhaustion(self.pool?, self.machine, life)?;
        let because = format!("{because}, {} requests a connection", round_to_thousandths(each));
        Some(self.request_limit(LimitKind::Ports, PerSecond(rate.0 * each), because, change))
    }

    fn packet_limits(&self, packets: &PacketServiceConfig) -> Vec<ForecastLimit> {
        let mut limits = Vec::new();
        let rest = packets.timers.fin;
        if self.service.forward == ForwardingMode::Nat {
            limits.extend(self.translated_port_limit(packets, rest));
        }
        let flows = u64::from(self.config.packets.flows);
        let change = "raise `flows` of [packets], or lower `fin-timeout` of the service";
        limits.push(self.concurrency_limit(
            LimitKind::Flows,
            flows,
            rest,
            "entries of the flow table",
            change,
        ));
        let caps = &packets.guard.all;
        if let Some(most) = caps.connections {
            let places = u64::from(most);
            limits.push(self.concurrency_limit(
                LimitKind::Cap,
                places,
                Duration::ZERO,
                "connections at a time",
                "raise guard.all.connections",
            ));
        }
        if let Some(rate) = caps.syn_rate {
            let because = format!("{rate} new connections a second");
            limits.push(self.connection_limit(
                LimitKind::Cap,
                PerSecond(f64::from(rate)),
                because,
                "raise guard.all.syn-rate",
            ));
        }
        if let Some(bits) = caps.bandwidth {
            let each = wire::message_bytes_on_wire(self.demand.request, SEGMENT);
            let rate = PerSecond(bits as f64 / 8.0 / each.0);
            let because = format!("{bits} bit/s from clients, {} B a request on the wire", each.0);
            limits.push(self.request_limit(
                LimitKind::Cap,
                rate,
                because,
                "raise guard.all.bandwidth",
            ));
        }
        limits
    }

    fn translated_port_limit(
        &self,
        packets: &PacketServiceConfig,
        rest: Duration,
    ) -> Option<ForecastLimit> {
        let held = self.demand.life + rest;
        let PortExhaustion { rate, because, change } = port_exhaustion::translated_port_exhaustion(
            self.allocation,
            packets,
            self.pool?,
            held,
        )?;
        Some(self.connection_limit(LimitKind::Ports, rate, because, change))
    }

    fn replication_traffic(&self, first: &ForecastLimit) -> Option<ReplicationTraffic> {
        let packets =
            self.service.packets.as_ref().filter(|packets| packets.replicate.includes_flows())?;
        let v6 = packets.listen.iter().any(|span| span.address.is_ipv6());
        let traffic = match self.service.forward {
            ForwardingMode::Nat => {
                RecordSizes::for_translated(v6, self.pool.is_some_and(|pool| pool.source_client))
            }
            _ => RecordSizes::FLOW,
        };
        let held = self.demand.life + packets.timers.fin;
        Some(estimate_replication(
            traffic,
            first.connections_per_second,
            held,
            refresh_interval(shortest_timeout(packets)),
        ))
    }

    /// Traffic that crosses the machine's one link: requests only, if servers respond directly to clients.
    fn bandwidth_limit(&self) -> Option<ForecastLimit> {
        let link = self.machine.link?;
        let request = wire::message_bytes_on_wire(self.demand.request, SEGMENT);
        let response = wire::message_bytes_on_wire(self.demand.response, SEGMENT);
        // Acknowledgements travel against the data: about one for two segments (RFC 5681, section 4.2).
        let quiet =
            ByteCount((self.demand.response.0 / SEGMENT.0 / 2.0).ceil() * wire::LEAST_FRAME.0);
        let opening = ByteCount(OPENING_PACKETS / self.demand.per_connection * wire::LEAST_FRAME.0);
        let direct = matches!(self.service.forward, ForwardingMode::Mac | ForwardingMode::Tunnel);
        let through = if direct {
            request.0 + quiet.0 + opening.0
        } else {
            request.0 + response.0 + quiet.0 + opening.0
        };
        let rate = wire::carried_exchanges(
            link,
            ByteCount(through),
            ByteCount(through),
            self.machine.duplex,
        );
        let medium = match self.machine.duplex {
            Duplex::Full => "each way",
            Duplex::Half => "for both ways together",
        };
        let because = format!(
            "{:.0} Mbit/s {medium}, {through:.0} B a request in and as many out{}",
            link.megabits(),
            if direct { "; servers answer clients directly" } else { "" }
        );
        let change = if direct {
            "a faster link"
        } else {
            "a faster link, or forward = \"mac\" or \"tunnel\", whose answers do not pass here"
        };
        Some(self.request_limit(LimitKind::Bandwidth, rate, because, change))
    }
}

/// Payload of a full segment on Ethernet with timestamps.
const SEGMENT: ByteCount = ByteCount(1_448.0);
/// Packets without payload that open and close a connection, of both directions.
/// SYN, SYN-ACK, ACK, two FINs and their acknowledgements.
const OPENING_PACKETS: f64 = 7.0;

#[cfg(test)]
mod tests;
