//! The packet plane as lines, a service and then its servers. Pure.

use api::types::{PacketEnd, PacketOutcome, PacketServer, PacketService};

use crate::show::table::Align::{self, Left, Right};
use crate::top::sheet::{Field, Row, Sheet};
use crate::top::snapshot::Snapshot;

const COLUMNS: &[(&str, Align)] = &[
    ("SERVICE", Left),
    ("SERVER", Left),
    ("FLOWS", Right),
    ("NEW/S", Right),
    ("PACKETS/S", Right),
    ("DROPPED/S", Right),
    ("TO IT/S", Right),
    ("FROM IT/S", Right),
    ("HALF-OPEN", Right),
];

/// A line for each service, and one for each of its servers.
pub fn sheet(snapshot: &Snapshot) -> Sheet {
    let services = snapshot.report.packets.as_ref().map_or(&[][..], |packets| &packets.services);
    let mut rows = Vec::new();
    for service in services {
        rows.push(whole(service));
        rows.extend(service.servers.iter().map(|server| one(service, server)));
    }
    Sheet { columns: COLUMNS, rows }
}

fn whole(service: &PacketService) -> Row {
    let sum = |of: fn(&PacketServer) -> f64| service.servers.iter().map(of).sum::<f64>();
    let fields = vec![
        Field::text(&service.name),
        Field::text("all"),
        Field::count(service.flows),
        Field::rate(sum(|server| server.connections.rate)),
        Field::rate(packets(&service.outcomes)),
        Field::bad_rate(dropped(&service.outcomes)),
        Field::bytes(sum(|server| server.bytes_in.rate)),
        Field::bytes(sum(|server| server.bytes_out.rate)),
        Field::count(service.half_open),
    ];
    Row { id: service.name.clone(), fields, server: None }
}

fn one(service: &PacketService, server: &PacketServer) -> Row {
    let fields = vec![
        Field::text(&service.name),
        Field::text(&server.name),
        Field::count(server.flows),
        Field::rate(server.connections.rate),
        Field::rate(packets(&server.outcomes)),
        Field::bad_rate(dropped(&server.outcomes)),
        Field::bytes(server.bytes_in.rate),
        Field::bytes(server.bytes_out.rate),
        Field::shown(String::new(), -1.0),
    ];
    let to = server.name.split_once('/').map(|(pool, name)| (pool.to_owned(), name.to_owned()));
    Row { id: format!("{} {}", service.name, server.name), fields, server: to }
}

fn packets(outcomes: &[PacketOutcome]) -> f64 {
    outcomes.iter().map(|one| one.count.rate).sum()
}

fn dropped(outcomes: &[PacketOutcome]) -> f64 {
    let dropped = outcomes.iter().filter(|one| one.end == PacketEnd::Dropped);
    dropped.map(|one| one.count.rate).sum()
}
