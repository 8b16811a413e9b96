//! What the packet plane counts. Nothing where no service forwards packets; no row for what never happened, so that
//! rows grow with servers and with what goes wrong there, not with clients.

use std::fmt::Error;

use l4::counts::{PacketOutcomes, PlaneCounters, ServerCounts};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::family::{counter, counters, gauge, gauges};
use crate::planes::packets::view::{PacketPlaneView, ServerFlows};

/// A server with the name of a service that uses it.
struct PacketServerRow<'a> {
    service: &'a str,
    server: &'a ServerFlows,
}

pub(super) fn encode(view: &PacketPlaneView, to: &mut DescriptorEncoder) -> Result<(), Error> {
    if !view.is_wanted {
        return Ok(());
    }
    plane(view, to)?;
    services(view, to)?;
    let Some(sample) = &view.current else { return Ok(()) };
    let rows: Vec<PacketServerRow> = view
        .flows
        .iter()
        .flat_map(|(service, flows)| {
            flows.servers.iter().map(move |server| PacketServerRow { service, server })
        })
        .collect();
    packets(view, &rows, &sample.counts, to)?;
    servers(&rows, &sample.counts, to)
}

/// Interfaces, tables, and counters that belong to no service.
fn plane(view: &PacketPlaneView, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let attached = view.interfaces.iter().map(|one| {
        let labels = [("interface", one.name.as_str()), ("mode", one.mode.unwrap_or("none"))];
        (labels, if one.mode.is_some() { 1.0 } else { 0.0 })
    });
    let help = "1 for the XDP mode of the interface: native, generic or none.";
    gauges(to, "steelyard_packet_interface_attached", None, help, attached)?;
    let help = "Memory of the tables of the packet plane.";
    gauge(to, "steelyard_packet_tables", Some(Unit::Bytes), help, view.memory as f64)?;
    let Some(sample) = &view.current else { return Ok(()) };
    let counts = &sample.counts;
    let one = |to: &mut DescriptorEncoder, name: &str, help: &str, value: u64| {
        counter(to, name, None, help, value)
    };
    one(to, "steelyard_packets_received", "Packets received.", counts.received)?;
    let help = "Packets of servers that were removed before the process started.";
    one(to, "steelyard_packets_earlier", help, counts.removed_before)?;
    let help = "Received packets without an outcome.";
    let unaccounted = counts.received as f64 - counts.accounted() as f64;
    gauge(to, "steelyard_packets_unaccounted", None, help, unaccounted)?;
    let help = "Open connections removed from the table for new ones.";
    one(to, "steelyard_packet_flows_evicted", help, counts.evicted)?;
    let help = "Notices of the datapath to the daemon that were lost.";
    one(to, "steelyard_packet_notices_lost", help, counts.events_lost)?;
    let sums = view.fragments;
    let results = [
        ("sent", sums.sent),
        ("failed", sums.failed),
        ("malformed", sums.malformed),
        ("late", sums.late),
    ];
    let results = results.map(|(result, count)| ([("result", result)], count));
    let help = "Packets fragmented for tunnels: fragments that were sent and that could not be; packets that could not \
                be cut, and packets that waited too long.";
    counters(to, "steelyard_packet_fragments", None, help, results)
}

fn services(view: &PacketPlaneView, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let each = |value: fn(&crate::planes::packets::view::ServiceFlows) -> f64| {
        view.flows.iter().map(move |(name, flows)| ([("service", name.as_str())], value(flows)))
    };
    let flows = each(|flows| f64::from(flows.flows));
    let help = "Open connections whose packets are forwarded.";
    gauges(to, "steelyard_service_packet_flows", None, help, flows)?;
    let half_open = each(|flows| f64::from(flows.half_open));
    let help = "Half-open connections: without a complete handshake.";
    gauges(to, "steelyard_service_packet_flows_half_open", None, help, half_open)?;
    let alarm = each(|flows| f64::from(u8::from(flows.alarm)));
    let help = "1 while the alarm for half-open connections is active.";
    gauges(to, "steelyard_service_half_open_alarm", None, help, alarm)
}

/// Packets by where they ended: all, of services that reached no server, and of servers.
fn packets(
    view: &PacketPlaneView,
    rows: &[PacketServerRow],
    counts: &PlaneCounters,
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    let total = counts.total();
    let help = "Packets by outcome and version of IP; their sum and `earlier` are those received.";
    counters(to, "steelyard_packets", None, help, outcome_rows(&[], &total))?;
    let none = PacketOutcomes::new();
    let services = view.services.iter().flat_map(|(name, index)| {
        let outcomes = counts.services.get(index).unwrap_or(&none);
        outcome_rows(&[("service", name)], outcomes)
    });
    let help = "Packets of a service that reached no server, by outcome and version of IP.";
    counters(to, "steelyard_service_packets", None, help, services)?;
    let removals = view.services.iter().flat_map(|(name, index)| {
        let fields = counts.cleared.get(index).into_iter().flatten();
        fields.map(|(field, count)| ([("service", name.as_str()), ("field", field.name())], *count))
    });
    let help = "Parts of TCP headers that were removed from packets of a service.";
    counters(to, "steelyard_service_packet_removals", None, help, removals)?;
    let servers = rows.iter().flat_map(|row| {
        let outcomes = counts.servers.get(&row.server.index).map_or(&none, |one| &one.outcomes);
        outcome_rows(&server_labels(row), outcomes)
    });
    let help = "Packets of a server by outcome and version of IP, both directions.";
    counters(to, "steelyard_server_packets", None, help, servers)
}

/// Rows of the outcomes with a count, with these labels first.
fn outcome_rows<'a>(
    labels: &[(&'static str, &'a str)],
    outcomes: &PacketOutcomes,
) -> Vec<(Vec<(&'static str, &'a str)>, u64)> {
    let mut out = Vec::new();
    for (outcome, packets) in outcomes {
        let families = [("4", packets.v4), ("6", packets.v6), ("other", packets.other)];
        for (family, count) in families.into_iter().filter(|(_, count)| *count > 0) {
            let own = [("outcome", outcome.name()), ("ip", family)];
            out.push((labels.iter().copied().chain(own).collect(), count));
        }
    }
    out
}

/// Connections and bytes of servers.
fn servers(
    rows: &[PacketServerRow],
    counts: &PlaneCounters,
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    let flows = rows.iter().map(|row| (server_labels(row), f64::from(row.server.flows)));
    let help = "Open connections whose packets are forwarded to the server.";
    gauges(to, "steelyard_server_packet_flows", None, help, flows)?;
    let none = ServerCounts::default();
    let of = |row: &PacketServerRow| counts.servers.get(&row.server.index).unwrap_or(&none).clone();
    let chosen = rows.iter().map(|row| (server_labels(row), of(row).flows));
    let help = "Connections assigned to the server.";
    counters(to, "steelyard_server_packet_connections", None, help, chosen)?;
    let bytes = rows.iter().flat_map(|row| {
        let [service, pool, server] = server_labels(row);
        let counts = of(row);
        [("in", counts.bytes_in), ("out", counts.bytes_out)]
            .map(|(direction, bytes)| ([service, pool, server, ("direction", direction)], bytes))
    });
    let help = "Bytes of packets towards the server (in) and towards clients (out; nat alone).";
    counters(to, "steelyard_server_packet_traffic", Some(Unit::Bytes), help, bytes)
}

fn server_labels<'a>(row: &PacketServerRow<'a>) -> [(&'static str, &'a str); 3] {
    [("service", row.service), ("pool", &row.server.pool), ("server", &row.server.name)]
}
