//! Handshakes of services and servers by the group of their key exchange. Groups that never were are left out.

use std::fmt::Error;

use model::snapshot::{PoolView, ServiceView};
use model::stats::key_exchange_groups::KeyExchangeGroups;
use prometheus_client::encoding::DescriptorEncoder;

use super::family::counters;

pub(super) fn encode_services(
    services: &[&ServiceView],
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    let rows = services.iter().flat_map(|view| {
        let slots = view.stats.slots.iter().map(|slot| &slot.key_exchange_groups);
        let name = view.config.name.as_str();
        write_groups(slots)
            .map(move |(group, count)| ([("service", name), ("group", group)], count))
    });
    let help = "Finished TLS handshakes with clients, without HTTP/3, by key exchange group; groups without any are \
                left out.";
    counters(to, "steelyard_service_tls_groups", None, help, rows)
}

pub(super) fn encode_servers(pools: &[&PoolView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let servers = pools
        .iter()
        .flat_map(|pool| pool.servers.iter().map(|view| (pool.config.name.as_str(), view)));
    let rows = servers.flat_map(|(pool, view)| {
        let slots = view.stats.slots.iter().map(|slot| &slot.key_exchange_groups);
        let server = view.config.name.as_str();
        write_groups(slots).map(move |(group, count)| {
            ([("pool", pool), ("server", server), ("group", group)], count)
        })
    });
    let help = "Finished TLS handshakes by key exchange group; groups without any are left out.";
    counters(to, "steelyard_server_tls_groups", None, help, rows)
}

fn write_groups<'g>(
    slots: impl Iterator<Item = &'g KeyExchangeGroups>,
) -> impl Iterator<Item = (&'static str, u64)> {
    let mut sums = [0; KeyExchangeGroups::NAMES.len()];
    for slot in slots {
        for (sum, count) in sums.iter_mut().zip(slot.counts()) {
            *sum += count;
        }
    }
    KeyExchangeGroups::NAMES.into_iter().zip(sums).filter(|(_, count)| *count > 0)
}
