//! Uplinks in the types of the API. Pure.

use api::types::{UplinkStatus, UplinksStatus};

use crate::planes::uplinks::view::{UplinkPathView, UplinksView};

/// All of them; `None`: there are none.
pub fn status(view: &UplinksView) -> Option<UplinksStatus> {
    if view.paths.is_empty() {
        return None;
    }
    let uplinks = view.paths.iter().map(uplink).collect();
    Some(UplinksStatus { rule_priority: view.first_rule, uplinks, problems: view.errors.clone() })
}

fn uplink(view: &UplinkPathView) -> UplinkStatus {
    let micros = |span: std::time::Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    UplinkStatus {
        name: view.name.clone(),
        family: if view.v6 { "ipv6" } else { "ipv4" }.to_owned(),
        interface: view.interface.clone(),
        gateway: view.gateway,
        source: view.source,
        state: if view.up { "up" } else { "down" }.to_owned(),
        reason: view.reason.clone(),
        weight: view.weight,
        priority: view.priority,
        share: view.share,
        round_trip_us: view.round_trip.map(micros),
        loss: view.loss,
        table: view.table,
        mark: view.mark,
        originated: view.counts.own,
        forwarded: view.counts.forwarded,
        moved: view.counts.rerouted,
    }
}
