//! Bundles of links in the types of the API. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use api::types::{BundleStatus, LinkStatus};

use crate::planes::links::view::{BundleView, LinkView, LinksView};

pub fn status(view: &LinksView) -> Vec<BundleStatus> {
    view.bundles.iter().map(|(name, one)| bundle(name, one, view.broken.as_deref())).collect()
}

fn bundle(name: &str, view: &BundleView, broken: Option<&str>) -> BundleStatus {
    BundleStatus {
        name: name.to_owned(),
        policy: view.policy.to_owned(),
        state: view.state.name().to_owned(),
        reason: broken.unwrap_or(&view.reason).to_owned(),
        mtu: view.mtu,
        gap_us: view.gap.map(micros),
        skew_us: micros(view.skew),
        links: view.links.iter().map(link).collect(),
        counts: named(&view.kinds),
        dropped: named(&view.dropped),
    }
}

fn link(view: &LinkView) -> LinkStatus {
    LinkStatus {
        interface: view.interface.clone(),
        via: view.via.clone(),
        state: if view.alive { "alive" } else { "dead" }.to_owned(),
        reason: view.reason.clone(),
        round_trip_us: view.round_trip.map(micros),
        loss: view.loss,
        capacity: view.capacity,
        added_delay_us: micros(view.delay),
        packets: view.packets,
        bytes: view.bytes,
    }
}

fn named(counts: &BTreeMap<&'static str, u64>) -> BTreeMap<String, u64> {
    let some = counts.iter().filter(|(_, count)| **count > 0);
    some.map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
