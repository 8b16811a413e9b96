//! A snapshot as lines of services, servers and causes. Pure; packets and shared addresses are modules of their own.

mod packets;
mod shared;

use std::collections::HashMap;

use api::types::{
    PacketDisposition, PacketOutcome, PacketServer, PacketService, PhaseTimes, ServerReport,
    ServerStatus, ServiceReport, ServiceState, ServiceStatus,
};
use model::cause::Side;
use model::snapshot::ServerState;

use super::history::ServiceArrivalRate;
use super::sheet::{RowServer, Sheet, SheetCell, SheetRow};
use super::snapshot::TopSnapshot;
use super::tab::Tab;
use crate::show::paint::Colour;
use crate::show::table::{TableColumn, left, right};
use crate::show::unit::{count, span};

/// The lines of a view, as configured.
pub fn sheet(tab: Tab, snapshot: &TopSnapshot) -> Sheet {
    match tab {
        Tab::Services => Sheet { columns: SERVICES, rows: services(snapshot) },
        Tab::Servers => Sheet { columns: SERVERS, rows: servers(snapshot) },
        Tab::Causes => Sheet { columns: CAUSES, rows: causes(snapshot) },
        Tab::Packets => packets::sheet(snapshot),
        Tab::Shared => shared::sheet(snapshot),
    }
}

const SERVICES: &[TableColumn] = &[
    left("SERVICE"),
    left("STATE"),
    right("/S"),
    right("ERR/S"),
    right("ERR %"),
    right("P50"),
    right("P99"),
    right("IN FLIGHT"),
    right("OPEN"),
    left("FORWARD"),
    left("POOL"),
    left("WHY"),
];

fn services(snapshot: &TopSnapshot) -> Vec<SheetRow> {
    let counted: HashMap<&str, &ServiceReport> =
        snapshot.report.services.iter().map(|one| (one.name.as_str(), one)).collect();
    let forwarded: HashMap<&str, &PacketService> =
        forwarding(snapshot).iter().map(|one| (one.name.as_str(), one)).collect();
    let now = snapshot.status.now_unix_ms;
    let line = |service: &ServiceStatus| {
        let name = service.name.as_str();
        let report = counted.get(name);
        let packets = forwarded.get(name);
        let phases = report.map_or(&[][..], |report| &report.counts.phases);
        let arrivals = arrival_rate(report.copied(), packets.copied());
        let failing = report.map_or(0.0, |report| report.counts.errors.errors.rate)
            + packets.map_or(0.0, |packets| dropped(&packets.outcomes));
        let flows = packets.map_or(0, |packets| u64::from(packets.flows));
        let age = span(now.saturating_sub(service.since_unix_ms));
        let fields = vec![
            SheetCell::text(name),
            SheetCell::coloured(service.state.name(), service_colour(service.state)),
            SheetCell::rate(arrivals),
            SheetCell::bad_rate(failing),
            SheetCell::share(report.map(|report| &report.counts.errors)),
            SheetCell::time(total_quantile(phases, |phase| phase.p50_us)),
            SheetCell::time(total_quantile(phases, |phase| phase.p99_us)),
            SheetCell::count(service.in_flight.max(flows)),
            SheetCell::count(service.open),
            SheetCell::text(&service.forward),
            SheetCell::text(&service.pool),
            SheetCell::text(&format!("for {age}: {}", service.reason)),
        ];
        SheetRow { id: name.to_owned(), fields, server: None }
    };
    snapshot.status.services.iter().map(line).collect()
}

/// The rate of each service, as configured.
pub fn rates(snapshot: &TopSnapshot) -> Vec<ServiceArrivalRate> {
    let named = |name: &String| {
        let report = snapshot.report.services.iter().find(|one| one.name == *name);
        let packets = forwarding(snapshot).iter().find(|one| one.name == *name);
        ServiceArrivalRate { service: name.clone(), per_second: arrival_rate(report, packets) }
    };
    snapshot.status.services.iter().map(|service| named(&service.name)).collect()
}

/// Requests, and new connections of packets, a second.
fn arrival_rate(report: Option<&ServiceReport>, packets: Option<&PacketService>) -> f64 {
    report.map_or(0.0, |report| report.counts.requests.requests.rate)
        + packets.map_or(0.0, |packets| connection_rate(&packets.servers))
}

const SERVERS: &[TableColumn] = &[
    left("SERVER"),
    left("STATE"),
    right("/S"),
    right("ERR/S"),
    right("ERR %"),
    right("P50"),
    right("P99"),
    right("IN FLIGHT"),
    right("OPEN"),
    right("WEIGHT"),
    left("ADDRESS"),
    left("WHY"),
];

fn servers(snapshot: &TopSnapshot) -> Vec<SheetRow> {
    let mut counted: HashMap<(&str, &str), &ServerReport> = HashMap::new();
    for pool in &snapshot.report.pools {
        counted
            .extend(pool.servers.iter().map(|one| ((pool.name.as_str(), one.name.as_str()), one)));
    }
    let mut forwarded: HashMap<&str, Vec<&PacketServer>> = HashMap::new();
    for server in forwarding(snapshot).iter().flat_map(|service| &service.servers) {
        forwarded.entry(&server.name).or_default().push(server);
    }
    let mut rows = Vec::new();
    for pool in &snapshot.status.pools {
        for server in &pool.servers {
            let id = format!("{}/{}", pool.name, server.name);
            let report = counted.get(&(pool.name.as_str(), server.name.as_str())).copied();
            let packets = forwarded.get(id.as_str()).map_or(&[][..], |all| &all[..]);
            let fields = server_fields(&id, server, report, packets, snapshot.status.now_unix_ms);
            let to = RowServer { pool: pool.name.clone(), name: server.name.clone() };
            rows.push(SheetRow { id, fields, server: Some(to) });
        }
    }
    rows
}

fn server_fields(
    id: &str,
    server: &ServerStatus,
    report: Option<&ServerReport>,
    packets: &[&PacketServer],
    now_unix_ms: u64,
) -> Vec<SheetCell> {
    let phases = report.map_or(&[][..], |report| &report.phases);
    let requests = report.map_or(0.0, |report| report.requests.rate)
        + packets.iter().map(|one| one.connections.rate).sum::<f64>();
    let failing = report.map_or(0.0, |report| report.errors.errors.rate)
        + packets.iter().map(|one| dropped(&one.outcomes)).sum::<f64>();
    let flows: u32 = packets.iter().map(|one| one.flows).sum();
    let open = count(u64::from(server.connections));
    let open = server
        .max_connections
        .map_or(open.clone(), |cap| format!("{open} of {}", count(u64::from(cap))));
    let age = span(now_unix_ms.saturating_sub(server.since_unix_ms));
    vec![
        SheetCell::text(id),
        state_cell(server),
        SheetCell::rate(requests),
        SheetCell::bad_rate(failing),
        SheetCell::share(report.map(|report| &report.errors)),
        SheetCell::time(total_quantile(phases, |phase| phase.p50_us)),
        SheetCell::time(total_quantile(phases, |phase| phase.p99_us)),
        SheetCell::count(server.in_flight.max(flows)),
        SheetCell::number_as(open, f64::from(server.connections)),
        SheetCell::count(server.weight),
        SheetCell::text(&server.address),
        SheetCell::text(&format!("for {age}: {}", server.reason.text)),
    ]
}

/// Complete responses of servers with a status of 500 or above: errors without a cause of ours.
const SERVER_5XX: &str = "server-5xx";

const CAUSES: &[TableColumn] =
    &[left("AT"), left("CAUSE"), right("/S"), right("TOTAL"), left("ORIGIN")];

fn causes(snapshot: &TopSnapshot) -> Vec<SheetRow> {
    let mut rows = Vec::new();
    let mut line = |at: &str, kind: &str, cause: &str, rate: f64, total: u64, because: &str| {
        let fields = vec![
            SheetCell::text(at),
            SheetCell::text(cause),
            SheetCell::bad_rate(rate),
            SheetCell::count(total),
            SheetCell::text(because),
        ];
        rows.push(SheetRow { id: format!("{at} {cause} {kind}"), fields, server: None });
    };
    for service in &snapshot.report.services {
        let one = service.counts.errors.server_5xx;
        if one.total > 0 {
            line(&service.name, "service", SERVER_5XX, one.rate, one.total, side(Side::Server));
        }
        for one in &service.counts.causes {
            let because = side(one.side);
            line(&service.name, "service", &one.cause, one.count.rate, one.count.total, because);
        }
        for one in &service.counts.limits {
            let because = "balancer: a limit";
            line(&service.name, "limit", &one.name, one.count.rate, one.count.total, because);
        }
    }
    for pool in &snapshot.report.pools {
        for server in &pool.servers {
            let at = format!("{}/{}", pool.name, server.name);
            let one = server.errors.server_5xx;
            if one.total > 0 {
                line(&at, "server", SERVER_5XX, one.rate, one.total, side(Side::Server));
            }
            for one in &server.causes {
                line(&at, "server", &one.cause, one.count.rate, one.count.total, side(one.side));
            }
        }
    }
    for service in forwarding(snapshot) {
        for one in
            service.outcomes.iter().filter(|one| one.disposition == PacketDisposition::Dropped)
        {
            let because = format!("packets: {}", one.meaning);
            line(&service.name, "packets", &one.name, one.count.rate, one.count.total, &because);
        }
    }
    rows
}

/// Services of the packet plane; none where it is not.
fn forwarding(snapshot: &TopSnapshot) -> &[PacketService] {
    snapshot.report.packets.as_ref().map_or(&[], |packets| &packets.services)
}

/// New connections a second.
fn connection_rate(servers: &[PacketServer]) -> f64 {
    servers.iter().map(|server| server.connections.rate).sum()
}

fn dropped(outcomes: &[PacketOutcome]) -> f64 {
    let dropped = outcomes.iter().filter(|one| one.disposition == PacketDisposition::Dropped);
    dropped.map(|one| one.count.rate).sum()
}

/// A quantile of the whole exchange.
pub fn total_quantile(
    phases: &[PhaseTimes],
    quantile: fn(&PhaseTimes) -> Option<u64>,
) -> Option<u64> {
    phases.iter().find(|phase| phase.phase == "total").and_then(quantile)
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Client => "the client",
        Side::Balancer => "balancer",
        Side::Server => "a server",
        Side::Network => "the network",
    }
}

fn service_colour(state: ServiceState) -> Colour {
    match state {
        ServiceState::Up => Colour::Good,
        ServiceState::Degraded => Colour::Doubt,
        ServiceState::Down => Colour::Bad,
        ServiceState::Draining => Colour::Quiet,
    }
}

fn state_cell(server: &ServerStatus) -> SheetCell {
    if server.assumed {
        return SheetCell::coloured("assumed up", Colour::Doubt);
    }
    let colour = match server.state {
        ServerState::Up => Colour::Good,
        ServerState::Down => Colour::Bad,
        ServerState::Unknown => Colour::Doubt,
        ServerState::Drain | ServerState::Disabled => Colour::Quiet,
    };
    SheetCell::coloured(server.state.name(), colour)
}
