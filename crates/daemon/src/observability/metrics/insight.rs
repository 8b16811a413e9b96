//! Metrics of sampled connections of the packet plane, not multiplied by the sampling rate. Bounded: rows are of
//! services and closed lists, and there are no rows for what never happened.

use std::fmt::Error;

use model::flow_samples::{FlowSide, FlowSideCounters, HandshakeStall};
use model::limit::TimeOwner;
use model::snapshot::ServiceView;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::family::{counter, counters, gauge, histograms, seconds};
use crate::planes::flow_samples::{FlowSampleTotals, ServiceFlowTotals};
use crate::planes::packets::view::PacketPlaneView;

/// Edges of the handshakes' histogram, microseconds: from a rack's to a lost SYN's.
const EDGES: [u64; 9] =
    [256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

/// A service's name and its flow samples.
type FlowSampleRow<'a> = (&'a str, &'a ServiceFlowTotals);

pub(super) fn encode(
    services: &[&ServiceView],
    totals: &FlowSampleTotals,
    view: &PacketPlaneView,
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    if !view.is_wanted {
        return Ok(());
    }
    encode_sampling(totals, view, to)?;
    let rows: Vec<FlowSampleRow> = services
        .iter()
        .filter_map(|service| {
            let total = totals.services.iter().find(|total| total.service == service.id.0)?;
            Some((service.config.name.as_str(), total))
        })
        .collect();
    connections(&rows, to)?;
    sides(&rows, to)?;
    let time = rows.iter().flat_map(|(name, total)| {
        total.bars.iter().map(move |bar| {
            let owner = bar.owner.map_or("unknown", TimeOwner::name);
            let labels = [("service", *name), ("owner", owner), ("limit", bar.limit.code())];
            (labels, bar.nanos as f64 / 1e9)
        })
    });
    let help = "Time that watched connections were stalled, by owner and limit.";
    seconds(to, "steelyard_flow_samples_stalled", Some(Unit::Seconds), help, time)
}

/// Encodes the sampling rate, and the connections that were sampled incompletely.
fn encode_sampling(
    totals: &FlowSampleTotals,
    view: &PacketPlaneView,
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    let help = "Sampling of forwarded connections: one in this many is watched; 0: none.";
    let sample = f64::from(view.flow_samples.sample.unwrap_or(0));
    gauge(to, "steelyard_flow_samples_one_in", None, help, sample)?;
    let help = "Connections watched now.";
    gauge(to, "steelyard_flow_samples_watched", None, help, view.flow_samples.watched as f64)?;
    let drawn = view.flow_samples.outcomes;
    let missed = [("full", drawn.full), ("evicted", drawn.evicted), ("unread", drawn.unread)];
    let rows = missed.map(|(reason, count)| ([("reason", reason)], count));
    let help = "Sampled connections that were not watched to their end, by reason.";
    counters(to, "steelyard_flow_samples_missed", None, help, rows)?;
    let help = "Flow samples that were dropped because `explain` had no room.";
    counter(to, "steelyard_flow_samples_dropped", None, help, totals.dropped)
}

fn connections(rows: &[FlowSampleRow], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let of = |value: fn(&ServiceFlowTotals) -> u64| {
        rows.iter().map(move |(name, total)| ([("service", *name)], value(total)))
    };
    let help = "Watched connections.";
    let name = "steelyard_flow_samples_connections";
    counters(to, name, None, help, of(|total| total.connections))?;
    let help = "Watched connections that a server refused with a reset.";
    counters(to, "steelyard_flow_samples_refused", None, help, of(|total| total.refused))?;
    let unfinished = rows.iter().flat_map(|(name, total)| {
        let each = HandshakeStall::ALL.iter().zip(total.unfinished).filter(|(_, count)| *count > 0);
        each.map(move |(who, count)| ([("service", *name), ("silent", who.name())], count))
    });
    let help = "Unfinished handshakes of watched connections, by the silent side.";
    counters(to, "steelyard_flow_samples_handshakes_unfinished", None, help, unfinished)?;
    let parts = ["server", "client", "whole"];
    let opened = rows.iter().flat_map(|(name, total)| {
        let each = parts.into_iter().zip(&total.opened).filter(|(_, sum)| sum.count() > 0);
        each.map(move |(part, sum)| ([("service", *name), ("part", part)], sum.clone()))
    });
    let help = "Handshakes of watched connections: SYN to SYN-ACK (server), SYN-ACK to ACK (client), all of it.";
    histograms(to, "steelyard_flow_samples_handshake", help, &EDGES, opened)
}

/// Counters of both directions.
fn sides(rows: &[FlowSampleRow], to: &mut DescriptorEncoder) -> Result<(), Error> {
    type Kinds<'a> = &'a [(&'static str, fn(&FlowSideCounters) -> u64)];
    let each = |kinds: Kinds<'_>| {
        let mut out = Vec::new();
        for (name, total) in rows {
            for (side, told) in FlowSide::ALL.into_iter().zip(&total.sides) {
                for (kind, value) in kinds {
                    if value(told) > 0 {
                        out.push((*name, side.name(), *kind, value(told)));
                    }
                }
            }
        }
        out
    };
    let repairs = each(&[
        ("lost-behind", |told| told.retransmitted),
        ("lost-before", |told| told.filled),
        ("reordered", |told| told.reordered),
    ]);
    let help = "Retransmitted and reordered packets of watched connections, by sender and by the side of the loss.";
    let rows = repairs.into_iter().map(|(service, from, how, count)| {
        ([("service", service), ("from", from), ("how", how)], count)
    });
    counters(to, "steelyard_flow_samples_repairs", None, help, rows)?;
    let windows = each(&[("zero", |told| told.zero_window), ("silly", |told| told.silly_window)]);
    let help = "Packets that announce a closed window, or one smaller than a segment, by sender.";
    let rows = windows.into_iter().map(|(service, from, window, count)| {
        ([("service", service), ("from", from), ("window", window)], count)
    });
    counters(to, "steelyard_flow_samples_small_windows", None, help, rows)?;
    let resets = each(&[("reset", |told| told.resets)]);
    let help = "Resets of watched connections by sender.";
    let rows = resets
        .into_iter()
        .map(|(service, from, _, count)| ([("service", service), ("from", from)], count));
    counters(to, "steelyard_flow_samples_resets", None, help, rows)
}
