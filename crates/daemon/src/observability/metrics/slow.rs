//! Whose time exchanges took, estimated from those that were measured. Bounded: owners and limits are closed lists.

use std::fmt::Error;

use model::limit::TimeOwner;
use model::snapshot::ServiceView;
use model::time_attribution::TimeShare;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::family::{counter, seconds};
use crate::observability::slow_exchanges::SlowTotals;

pub(super) fn encode(
    services: &[&ServiceView],
    totals: &SlowTotals,
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    let rows = services.iter().flat_map(|view| {
        let own = totals.services.iter().filter(|own| own.service == view.id.0);
        own.flat_map(|own| &own.shares).map(|bar| {
            let labels = [
                ("service", view.config.name.as_str()),
                ("owner", bar.owner.map_or("unknown", TimeOwner::name)),
                ("limit", bar.limit.code()),
            ];
            (labels, time(bar))
        })
    });
    let help = "Time of exchanges by owner and limit, estimated from the measured ones.";
    seconds(to, "steelyard_service_time", Some(Unit::Seconds), help, rows)?;
    let help = "Measured exchanges that were dropped because the queue was full.";
    counter(to, "steelyard_measured_dropped", None, help, totals.dropped)
}

fn time(bar: &TimeShare) -> f64 {
    bar.nanos as f64 / 1e9
}
