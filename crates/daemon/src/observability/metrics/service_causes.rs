//! Ends of a service's exchanges other than well, by cause, and refused requests by what was wrong with them.

use std::fmt::Error;

use model::cause::{Cause, Side};
use model::snapshot::ServiceView;
use prometheus_client::encoding::DescriptorEncoder;

use super::family::counters;

pub(super) fn encode_services(
    services: &[&ServiceView],
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    let rows = services.iter().flat_map(|view| {
        Cause::ALL.iter().enumerate().map(move |(at, cause)| {
            let labels = [
                ("service", view.config.name.as_str()),
                ("cause", cause.name()),
                ("side", encode_side(*cause)),
            ];
            (labels, view.stats.slots.iter().map(|slot| slot.causes[at].get()).sum())
        })
    });
    let help = "Requests that did not end well, by cause and by the side that acted first.";
    counters(to, "steelyard_service_causes", None, help, rows)?;

    let rows = services.iter().flat_map(|view| {
        wire::http1::Defect::ALL.iter().enumerate().filter_map(move |(at, defect)| {
            let count: u64 = view.stats.slots.iter().map(|slot| slot.defects[at].get()).sum();
            let labels = [("service", view.config.name.as_str()), ("defect", defect.name())];
            (count > 0).then_some((labels, count))
        })
    });
    let help = "Malformed requests by the rule of grammar or framing that they broke; rules without any are left out.";
    counters(to, "steelyard_service_defects", None, help, rows)
}

fn encode_side(cause: Cause) -> &'static str {
    match cause.side() {
        Side::Client => "client",
        Side::Balancer => "balancer",
        Side::Server => "server",
        Side::Network => "network",
    }
}
