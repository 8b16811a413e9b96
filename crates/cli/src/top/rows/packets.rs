//! The packet plane as lines, a service and then its servers. Pure.

use api::types::{PacketDisposition, PacketOutcome, PacketServer, PacketService};

use crate::show::table::{TableColumn, left, right};
use crate::top::sheet::{RowServer, Sheet, SheetCell, SheetRow};
use crate::top::snapshot::TopSnapshot;

const COLUMNS: &[TableColumn] = &[
    left("SERVICE"),
    left("SERVER"),
    right("FLOWS"),
    right("NEW/S"),
    right("PACKETS/S"),
    right("DROPPED/S"),
    right("TO IT/S"),
    right("FROM IT/S"),
    right("HALF-OPEN"),
];

/// A line for each service, and one for each of its servers.
pub fn sheet(snapshot: &TopSnapshot) -> Sheet {
    let services = snapshot.report.packets.as_ref().map_or(&[][..], |packets| &packets.services);
    let mut rows = Vec::new();
    for service in services {
        rows.push(service_row(service));
        rows.extend(service.servers.iter().map(|server| server_row(service, server)));
    }
    Sheet { columns: COLUMNS, rows }
}

fn service_row(service: &PacketService) -> SheetRow {
    let sum = |of: fn(&PacketServer) -> f64| service.servers.iter().map(of).sum::<f64>();
    let fields = vec![
        SheetCell::text(&service.name),
        SheetCell::text("all"),
        SheetCell::count(service.flows),
        SheetCell::rate(sum(|server| server.connections.rate)),
        SheetCell::rate(packets(&service.outcomes)),
        SheetCell::bad_rate(dropped(&service.outcomes)),
        SheetCell::bytes(sum(|server| server.bytes_in.rate)),
        SheetCell::bytes(sum(|server| server.bytes_out.rate)),
        SheetCell::count(service.half_open),
    ];
    SheetRow { id: service.name.clone(), fields, server: None }
}

fn server_row(service: &PacketService, server: &PacketServer) -> SheetRow {
    let fields = vec![
        SheetCell::text(&service.name),
        SheetCell::text(&server.name),
        SheetCell::count(server.flows),
        SheetCell::rate(server.connections.rate),
        SheetCell::rate(packets(&server.outcomes)),
        SheetCell::bad_rate(dropped(&server.outcomes)),
        SheetCell::bytes(server.bytes_in.rate),
        SheetCell::bytes(server.bytes_out.rate),
        SheetCell::number_as(String::new(), -1.0),
    ];
    let to = server
        .name
        .split_once('/')
        .map(|(pool, name)| RowServer { pool: pool.to_owned(), name: name.to_owned() });
    SheetRow { id: format!("{} {}", service.name, server.name), fields, server: to }
}

fn packets(outcomes: &[PacketOutcome]) -> f64 {
    outcomes.iter().map(|one| one.count.rate).sum()
}

fn dropped(outcomes: &[PacketOutcome]) -> f64 {
    let dropped = outcomes.iter().filter(|one| one.disposition == PacketDisposition::Dropped);
    dropped.map(|one| one.count.rate).sum()
}
