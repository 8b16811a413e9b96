//! What a configuration will carry, forecast for what its own traffic was measured to be. Pure.
//!
//! The arithmetic is the model's; here what was counted becomes its demand. Shares of what is used are of rates now.

use std::ops::RangeInclusive;
use std::time::Duration;

use api::types::{
    Capacity, CapacityDemand, CapacityLimit, CapacityMachine, CapacityService, Counter,
    PacketService, Report, ServiceReport,
};
use model::capacity::demand::{MachineCapacity, ProcessingCost, TrafficDemand};
use model::capacity::forecast;
use model::capacity::port_shares::PortAllocation;
use model::capacity::quantity::ByteCount;
use model::config::{Config, ServiceConfig};

/// With fewer requests the cost of one cannot be estimated: the daemon's other work would dominate.
const ENOUGH: u64 = 10_000;
/// Bounds for the estimated lifetime of a connection.
const LIFE: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(86_400);

/// Of all services. `spent` is the processor time of the daemon since its start.
pub fn forecast_capacity(
    config: &Config,
    report: &Report,
    mut machine: MachineCapacity,
    spent: Duration,
) -> Capacity {
    let requests = report.total.requests.requests.total;
    let each = spent.as_secs_f64() * 1e6 / requests.max(1) as f64;
    let request_us = (requests >= ENOUGH).then_some(each);
    let cost = |request_us| ProcessingCost { request_us, connection_us: 0.0, kibibyte_us: 0.0 };
    machine.cost = request_us.map(cost);
    let made = PortAllocation::allocate(config);
    let one = |service: &ServiceConfig| forecast_service(&made, service, report, &machine);
    Capacity {
        now_unix_ms: report.now_unix_ms,
        interval_ms: report.interval_ms,
        machine: CapacityMachine {
            processors: machine.processors,
            descriptors: machine.descriptors,
            ports: machine.ports,
            request_us,
        },
        services: config.services.values().map(|service| one(service)).collect(),
    }
}

fn forecast_service(
    made: &PortAllocation<'_>,
    service: &ServiceConfig,
    report: &Report,
    machine: &MachineCapacity,
) -> CapacityService {
    let uptime = Duration::from_millis(report.uptime_ms);
    let counts = report.services.iter().find(|one| one.name == service.name);
    let packets = report.packets.as_ref();
    let packets = packets.and_then(|all| all.services.iter().find(|one| one.name == service.name));
    let carried = match (packets, counts) {
        (Some(counts), _) => packet_demand(counts, uptime),
        (None, Some(counts)) => {
            request_demand(counts, requests_per_connection(report, &service.pool), uptime)
        }
        (None, None) => MeasuredDemand::default(),
    };
    let forecast = forecast::forecast_service(made, service, &carried.demand, machine);
    let used = |limit: f64| {
        if limit > 0.0 { 100.0 * carried.connections_per_second / limit } else { 100.0 }
    };
    let limits = forecast.limits.into_iter().map(|limit| CapacityLimit {
        kind: limit.kind.name().to_owned(),
        requests_per_second: limit.requests_per_second.0,
        connections_per_second: limit.connections_per_second.0,
        used_percent: match carried.requests_per_second {
            rate if rate > 0.0 && limit.requests_per_second.0 > 0.0 => {
                100.0 * rate / limit.requests_per_second.0
            }
            _ => used(limit.connections_per_second.0),
        },
        reason: limit.because,
        advice: limit.change,
    });
    CapacityService {
        name: service.name.clone(),
        forward: service.forward.name().to_owned(),
        limits: limits.collect(),
        demand: carried.to_report(),
    }
}

/// Measured demand, in the form of forecasts and of reports.
#[derive(Default)]
struct MeasuredDemand {
    measured: bool,
    requests_per_second: f64,
    connections_per_second: f64,
    demand: TrafficDemand,
}

impl MeasuredDemand {
    fn to_report(&self) -> CapacityDemand {
        let demand = &self.demand;
        CapacityDemand {
            measured: self.measured,
            requests_per_second: self.requests_per_second,
            connections_per_second: self.connections_per_second,
            request_bytes: demand.request.0,
            response_bytes: demand.response.0,
            requests_per_connection: demand.per_connection,
            requests_per_server_connection: demand.per_server_connection,
            connection_duration_ms: demand.life.as_secs_f64() * 1e3,
        }
    }
}

fn request_demand(
    counts: &ServiceReport,
    per_server_connection: Option<f64>,
    uptime: Duration,
) -> MeasuredDemand {
    let counts = &counts.counts;
    let usual = TrafficDemand::default();
    let requests = &counts.requests.requests;
    let connections = &counts.connections.accepted;
    // Of byte streams, a connection counts as a request.
    let asked = if requests.total > 0 { requests } else { connections };
    let mut carried = MeasuredDemand {
        measured: asked.total > 0,
        requests_per_second: asked.rate,
        connections_per_second: connections.rate,
        demand: usual,
    };
    if carried.measured {
        carried.demand = TrafficDemand {
            request: share(counts.bytes.received.total, asked.total),
            response: share(counts.bytes.sent.total, asked.total),
            per_connection: ratio(asked.total, connections.total),
            per_server_connection: per_server_connection.unwrap_or(usual.per_server_connection),
            life: mean_lifetime(counts.connections.open, *connections, uptime),
            ..usual
        };
    }
    carried
}

fn packet_demand(counts: &PacketService, uptime: Duration) -> MeasuredDemand {
    let sum = |field: fn(&api::types::PacketServer) -> Counter| {
        let mut all = Counter::default();
        counts.servers.iter().for_each(|server| all += field(server));
        all
    };
    let connections = sum(|server| server.connections);
    let usual = TrafficDemand::default();
    let mut carried = MeasuredDemand {
        measured: connections.total > 0,
        requests_per_second: connections.rate,
        connections_per_second: connections.rate,
        demand: usual,
    };
    if carried.measured {
        carried.demand = TrafficDemand {
            request: share(sum(|server| server.bytes_in).total, connections.total),
            response: share(sum(|server| server.bytes_out).total, connections.total),
            life: mean_lifetime(u64::from(counts.flows), connections, uptime),
            ..usual
        };
    }
    carried
}

/// Requests of a connection to a server of this pool.
fn requests_per_connection(report: &Report, pool: &str) -> Option<f64> {
    let servers = &report.pools.iter().find(|one| one.name == pool)?.servers;
    let requests = servers.iter().map(|server| server.requests.total).sum();
    let connects = servers.iter().map(|server| server.connects.total).sum::<u64>();
    (connects > 0).then(|| ratio(requests, connects))
}

/// The mean lifetime by Little's law, from open connections and the rate of new ones; the long-term rate is used if the
/// current one is zero.
fn mean_lifetime(open: u64, came: Counter, uptime: Duration) -> Duration {
    let mean = came.total as f64 / uptime.as_secs_f64().max(1e-3);
    let rate = if came.rate > 0.0 { came.rate } else { mean };
    let found = (open > 0).then(|| Duration::try_from_secs_f64(open as f64 / rate).ok()).flatten();
    found.unwrap_or(TrafficDemand::default().life).clamp(*LIFE.start(), *LIFE.end())
}

fn share(bytes: u64, of: u64) -> ByteCount {
    ByteCount((bytes as f64 / of.max(1) as f64).max(1.0))
}

fn ratio(many: u64, of: u64) -> f64 {
    (many as f64 / of.max(1) as f64).max(1.0)
}

#[cfg(test)]
mod tests;
