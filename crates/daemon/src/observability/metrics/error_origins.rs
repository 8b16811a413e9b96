//! Errors of services and servers by who caused them, as `model::exchange_error` defines them.

use std::fmt::Error;

use model::exchange_error::{ErrorOrigin, ErrorTally};
use model::snapshot::{PoolView, ServiceView};
use prometheus_client::encoding::DescriptorEncoder;

use super::family::counters;

pub(super) fn encode_services(
    services: &[&ServiceView],
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    let rows = services.iter().flat_map(|view| {
        let tally = ErrorTally::of_service(&view.stats);
        ErrorOrigin::ALL.into_iter().map(move |origin| {
            let labels = [("service", view.config.name.as_str()), ("origin", origin.name())];
            (labels, tally.count(origin))
        })
    });
    let help = "Errors by origin: requests that failed although no rule denied them; origin client: clients that left, \
                which are no errors.";
    counters(to, "steelyard_service_errors", None, help, rows)
}

/// Origins that never occurred are left out.
pub(super) fn encode_servers(pools: &[&PoolView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let servers = pools
        .iter()
        .flat_map(|pool| pool.servers.iter().map(|view| (pool.config.name.as_str(), view)));
    let rows = servers.flat_map(|(pool, view)| {
        let tally = ErrorTally::of_server(&view.stats);
        let server = view.config.name.as_str();
        ErrorOrigin::ALL.into_iter().filter_map(move |origin| {
            let count = tally.count(origin);
            let labels = [("pool", pool), ("server", server), ("origin", origin.name())];
            (count > 0).then_some((labels, count))
        })
    });
    let help = "Failed attempts by origin; origin client: clients that left, which are no errors. Origins without any \
                are left out.";
    counters(to, "steelyard_server_errors", None, help, rows)
}
