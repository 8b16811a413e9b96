//! What is counted of uplinks. Nothing where there is none.

use std::fmt::Error;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::family::{counters, gauges};
use crate::planes::uplinks::view::{UplinkPathView, UplinksView};

pub(super) fn encode(view: &UplinksView, to: &mut DescriptorEncoder) -> Result<(), Error> {
    if view.paths.is_empty() {
        return Ok(());
    }
    let help = "1 while new connections may use the uplink.";
    let up = rows(view, |path| Some(if path.up { 1.0 } else { 0.0 }));
    gauges(to, "steelyard_uplink_up", None, help, up)?;
    let help = "The uplink's share of new connections.";
    let share = rows(view, |path| Some(path.share));
    gauges(to, "steelyard_uplink_share", Some(Unit::Ratios), help, share)?;
    let help = "Minimum of the last round trips to a target beyond the uplink.";
    let trips = rows(view, |path| path.round_trip.map(|trip| trip.as_secs_f64()));
    gauges(to, "steelyard_uplink_round_trip", Some(Unit::Seconds), help, trips)?;
    let help = "Share of the last checks of the uplink's best target without a response, 0–1.";
    let loss = rows(view, |path| Some(path.loss));
    gauges(to, "steelyard_uplink_loss", Some(Unit::Ratios), help, loss)?;
    let mut names: Vec<&UplinkPathView> = view.paths.iter().collect();
    names.dedup_by(|one, other| one.name == other.name);
    let counts = names.into_iter().flat_map(|path| {
        let of = |origin, count| ([("uplink", path.name.as_str()), ("origin", origin)], count);
        let counts = path.counts;
        [of("own", counts.own), of("forwarded", counts.forwarded), of("moved", counts.rerouted)]
    });
    let help =
        "Connections that used the uplink: begun by this machine, forwarded, or moved to it.";
    counters(to, "steelyard_uplink_connections", None, help, counts)
}

fn rows(
    view: &UplinksView,
    value: impl Fn(&UplinkPathView) -> Option<f64>,
) -> impl Iterator<Item = ([(&'static str, &str); 2], f64)> {
    view.paths.iter().filter_map(move |path| {
        let family = if path.v6 { "ipv6" } else { "ipv4" };
        Some(([("uplink", path.name.as_str()), ("family", family)], value(path)?))
    })
}
