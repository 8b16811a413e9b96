//! What is counted of bundles of links. Nothing where there is none.

use std::fmt::Error;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::family::{counters, gauges};
use crate::planes::links::view::{LinkView, LinksView};

pub(super) fn encode(view: &LinksView, to: &mut DescriptorEncoder) -> Result<(), Error> {
    if view.bundles.is_empty() {
        return Ok(());
    }
    let gauge = |value: fn(&LinkView) -> f64| rows(view, move |link| Some(value(link)));
    let help = "1 while the link is used for packets.";
    let alive = gauge(|link| if link.alive { 1.0 } else { 0.0 });
    gauges(to, "steelyard_link_up", None, help, alive)?;
    let help = "Minimum of the last round trips to the link's next hop.";
    let trips = rows(view, |link| link.round_trip.map(|trip| trip.as_secs_f64()));
    gauges(to, "steelyard_link_round_trip", Some(Unit::Seconds), help, trips)?;
    let help = "Share of the last checks of the link's next hop without a response, 0–1.";
    gauges(to, "steelyard_link_loss", Some(Unit::Ratios), help, gauge(|link| link.loss))?;
    let help =
        "Delay added to the link's packets, so that packets of slower links arrive in order.";
    let held = gauge(|link| link.delay.as_secs_f64());
    gauges(to, "steelyard_link_held", Some(Unit::Seconds), help, held)?;
    let help = "Packets sent to the link.";
    let packets = rows(view, |link| Some(link.packets));
    counters(to, "steelyard_link_packets", None, help, packets)?;
    let help = "Bytes of frames sent to the link.";
    let bytes = rows(view, |link| Some(link.bytes));
    counters(to, "steelyard_link", Some(Unit::Bytes), help, bytes)?;
    let kinds = view.bundles.iter().flat_map(|(bundle, one)| {
        let labels = move |kind| [("bundle", bundle.as_str()), ("kind", kind)];
        one.kinds.iter().map(move |(kind, count)| (labels(*kind), *count))
    });
    let help = "Packets delayed, or not delayed although they should have been; fragmented datagrams; flowlets begun.";
    counters(to, "steelyard_bundle", None, help, kinds)?;
    let dropped = view.bundles.iter().flat_map(|(bundle, one)| {
        let labels = move |reason| [("bundle", bundle.as_str()), ("reason", reason)];
        one.dropped.iter().map(move |(reason, count)| (labels(*reason), *count))
    });
    let help = "Packets that a bundle dropped, by reason.";
    counters(to, "steelyard_bundle_dropped", None, help, dropped)
}

type BundleLabels<'v> = [(&'static str, &'v str); 2];

fn rows<'v, T>(
    view: &'v LinksView,
    value: impl Fn(&LinkView) -> Option<T>,
) -> impl Iterator<Item = (BundleLabels<'v>, T)> {
    let links = view
        .bundles
        .iter()
        .flat_map(|(bundle, one)| one.links.iter().map(move |link| (bundle.as_str(), link)));
    links.filter_map(move |(bundle, link)| {
        Some(([("bundle", bundle), ("interface", link.interface.as_str())], value(link)?))
    })
}
