//! The limits of a configuration on a machine under a demand, in the order in which they will be met.
//!
//! Limits of different kinds are compared by the requests a second at which each is met. Services are forecast each as
//! if alone; what they share they share.

use std::time::Duration;

use serde::Serialize;

use super::demand::{Demand, Machine};
use super::path;
use super::quantity::{BitRate, Bytes, PerSecond};
use super::shares::Made;
use super::telling::{Telling, Told, anew, shortest, telling};
use super::towards::{self, First, rounded};
use super::wire::{self, Duplex};
use crate::config::{Config, Forward, PacketService, Pool, Service};

/// The forecast of a service.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Forecast {
    /// Its name.
    pub service: String,
    /// How it forwards.
    pub forward: Forward,
    /// Limits, the first that will be met first.
    pub limits: Vec<Limit>,
    /// What one connection gets over the stated round trip.
    pub path: Option<PathForecast>,
    /// What telling another member of its connections takes at the first limit; of services that forward packets and do.
    pub replication: Option<Telling>,
}

/// A limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Limit {
    /// Which.
    pub kind: Kind,
    /// Requests a second at which it is met.
    pub requests_per_second: PerSecond,
    /// Connections of clients a second at which it is met.
    pub connections_per_second: PerSecond,
    /// The arithmetic.
    pub because: String,
    /// What raises it.
    pub change: String,
}

/// Kinds of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Ports towards servers.
    Ports,
    /// Entries of the flow table.
    Flows,
    /// Clients' connections at a time.
    Connections,
    /// File descriptors.
    Descriptors,
    /// The link.
    Bandwidth,
    /// A cap that the configuration sets.
    Cap,
    /// Processors.
    Processors,
}

impl Kind {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ports => "ports",
            Kind::Flows => "flows",
            Kind::Connections => "connections",
            Kind::Descriptors => "descriptors",
            Kind::Bandwidth => "bandwidth",
            Kind::Cap => "cap",
            Kind::Processors => "processors",
        }
    }
}

/// One connection over a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PathForecast {
    /// Bytes under way when the link is full.
    pub product: Option<Bytes>,
    /// What the send buffer lets one connection have.
    pub allowed: BitRate,
    /// What the receive buffer lets one connection bring us.
    pub allowed_in: BitRate,
    /// A window that is never scaled (65,535 bytes) lets through so much.
    pub unscaled: BitRate,
    /// Half of the kernel's buffer holds payload with its bookkeeping, at worst: the window to count on.
    pub window: Bytes,
}

/// Forecasts every service.
pub fn forecast(config: &Config, demand: &Demand, machine: &Machine) -> Vec<Forecast> {
    let made = Made::of(config);
    config.services.values().map(|service| of_service(&made, service, demand, machine)).collect()
}

/// Forecasts one of them, with the ports of return addresses of all.
pub fn of_service(
    made: &Made<'_>,
    service: &Service,
    demand: &Demand,
    machine: &Machine,
) -> Forecast {
    let config = made.config;
    let pool = config.pools.get(&service.pool).map(AsRef::as_ref);
    let scene = Scene { config, made, service, pool, demand, machine };
    let mut limits = match &service.packets {
        Some(packets) => scene.of_packets(packets),
        None => scene.of_proxy(),
    };
    limits.extend(scene.bandwidth());
    limits.sort_by(|a, b| a.requests_per_second.0.total_cmp(&b.requests_per_second.0));
    let path = demand.round_trip.filter(|time| !time.is_zero()).map(|time| path_of(machine, time));
    let replication = limits.first().and_then(|first| scene.replication(first));
    Forecast { service: service.name.clone(), forward: service.forward, limits, path, replication }
}

fn path_of(machine: &Machine, round_trip: Duration) -> PathForecast {
    let window = Bytes(machine.send_buffer.0 / 2.0);
    PathForecast {
        product: machine.link.map(|link| path::product(link, round_trip)),
        allowed: path::allowed(window, round_trip),
        allowed_in: path::allowed(Bytes(machine.receive_buffer.0 / 2.0), round_trip),
        unscaled: path::allowed(Bytes(65_535.0), round_trip),
        window,
    }
}

struct Scene<'a> {
    config: &'a Config,
    made: &'a Made<'a>,
    service: &'a Service,
    pool: Option<&'a Pool>,
    demand: &'a Demand,
    machine: &'a Machine,
}

impl Scene<'_> {
    /// A limit of clients' connections a second.
    fn by_connections(&self, kind: Kind, rate: PerSecond, because: String, change: &str) -> Limit {
        let requests_per_second = PerSecond(rate.0 * self.demand.per_connection);
        let change = change.to_owned();
        Limit { kind, requests_per_second, connections_per_second: rate, because, change }
    }

    /// A limit of requests a second.
    fn by_requests(&self, kind: Kind, rate: PerSecond, because: String, change: &str) -> Limit {
        let connections_per_second = PerSecond(rate.0 / self.demand.per_connection);
        let change = change.to_owned();
        Limit { kind, requests_per_second: rate, connections_per_second, because, change }
    }

    /// A limit of connections at a time: each takes its place for its life (Little's law).
    fn by_places(
        &self,
        kind: Kind,
        places: u64,
        rest: Duration,
        what: &str,
        change: &str,
    ) -> Limit {
        let held = (self.demand.life + rest).as_secs_f64();
        let because = format!("{places} {what}, each held for {} s", rounded(held));
        self.by_connections(kind, PerSecond(places as f64 / held), because, change)
    }

    fn of_proxy(&self) -> Vec<Limit> {
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
            limits.push(self.by_places(
                Kind::Connections,
                places,
                Duration::ZERO,
                "connections of clients at a time",
                &change,
            ));
        }
        // A client's connection, and one to a server.
        let pairs = self.machine.descriptors / 2;
        let change = "raise the limit of open files (LimitNOFILE= of the unit, or ulimit -n)";
        limits.push(self.by_places(
            Kind::Descriptors,
            pairs,
            Duration::ZERO,
            "pairs of descriptors",
            change,
        ));
        limits.extend(self.ports_towards_servers());
        if let Some(cost) = self.machine.cost {
            let workers = self.config.global.workers.map_or(self.machine.processors, u32::from);
            let used = workers.min(self.machine.processors);
            let each = cost.of(self.demand);
            let because = format!("{used} workers, {each:.1} µs of processor time a request");
            let rate = PerSecond(f64::from(used) * 1e6 / each);
            let change = "more workers and processors; fewer connections for the same requests";
            limits.push(self.by_requests(Kind::Processors, rate, because, change));
        }
        limits
    }

    fn ports_towards_servers(&self) -> Option<Limit> {
        let proxied = self.service.forward == Forward::Tcp;
        let (each, life) = if proxied {
            (self.demand.per_connection, self.demand.life)
        } else {
            (self.demand.per_server_connection, Duration::ZERO)
        };
        let First { rate, because, change } = towards::own(self.pool?, self.machine, life)?;
        let because = format!("{because}, {} requests a connection", rounded(each));
        Some(self.by_requests(Kind::Ports, PerSecond(rate.0 * each), because, change))
    }

    fn of_packets(&self, packets: &PacketService) -> Vec<Limit> {
        let mut limits = Vec::new();
        let rest = packets.timers.fin;
        if self.service.forward == Forward::Nat {
            limits.extend(self.translated_ports(packets, rest));
        }
        let flows = u64::from(self.config.packets.flows);
        let change = "raise `flows` of [packets], or lower `fin-timeout` of the service";
        limits.push(self.by_places(Kind::Flows, flows, rest, "entries of the flow table", change));
        let caps = &packets.guard.all;
        if let Some(most) = caps.connections {
            let places = u64::from(most);
            limits.push(self.by_places(
                Kind::Cap,
                places,
                Duration::ZERO,
                "connections at a time",
                "raise guard.all.connections",
            ));
        }
        if let Some(rate) = caps.syn_rate {
            let because = format!("{rate} new connections a second");
            limits.push(self.by_connections(
                Kind::Cap,
                PerSecond(f64::from(rate)),
                because,
                "raise guard.all.syn-rate",
            ));
        }
        if let Some(bits) = caps.bandwidth {
            let each = wire::message(self.demand.request, SEGMENT);
            let rate = PerSecond(bits as f64 / 8.0 / each.0);
            let because = format!("{bits} bit/s from clients, {} B a request on the wire", each.0);
            limits.push(self.by_requests(Kind::Cap, rate, because, "raise guard.all.bandwidth"));
        }
        limits
    }

    fn translated_ports(&self, packets: &PacketService, rest: Duration) -> Option<Limit> {
        let held = self.demand.life + rest;
        let First { rate, because, change } =
            towards::translated(self.made, packets, self.pool?, held)?;
        Some(self.by_connections(Kind::Ports, rate, because, change))
    }

    fn replication(&self, first: &Limit) -> Option<Telling> {
        let packets = self.service.packets.as_ref().filter(|one| one.replicate.flows())?;
        let v6 = packets.listen.iter().any(|span| span.address.is_ipv6());
        let told = match self.service.forward {
            Forward::Nat => Told::translated(v6, self.pool.is_some_and(|pool| pool.source_client)),
            _ => Told::FLOW,
        };
        let held = self.demand.life + packets.timers.fin;
        Some(telling(told, first.connections_per_second, held, anew(shortest(packets))))
    }

    /// What crosses this machine's one link: requests only where servers answer clients directly.
    fn bandwidth(&self) -> Option<Limit> {
        let link = self.machine.link?;
        let request = wire::message(self.demand.request, SEGMENT);
        let response = wire::message(self.demand.response, SEGMENT);
        // Acknowledgements travel against the data: about one for two segments.
        let quiet = Bytes((self.demand.response.0 / SEGMENT.0 / 2.0).ceil() * wire::LEAST_FRAME.0);
        let opening = Bytes(OPENING_PACKETS / self.demand.per_connection * wire::LEAST_FRAME.0);
        let direct = matches!(self.service.forward, Forward::Mac | Forward::Tunnel);
        let through = if direct {
            request.0 + quiet.0 + opening.0
        } else {
            request.0 + response.0 + quiet.0 + opening.0
        };
        let rate = wire::carried(link, Bytes(through), Bytes(through), self.machine.duplex);
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
        Some(self.by_requests(Kind::Bandwidth, rate, because, change))
    }
}

/// Payload of a full segment on Ethernet with timestamps.
const SEGMENT: Bytes = Bytes(1_448.0);
/// Packets without payload that open and close a connection, of both directions.
const OPENING_PACKETS: f64 = 7.0;

#[cfg(test)]
mod tests;
