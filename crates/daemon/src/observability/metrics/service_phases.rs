//! Times of exchanges by service and phase.

use std::fmt::Error;

use model::snapshot::ServiceView;
use model::stats::{ExchangePhaseHistograms, HistogramSum, RequestPhaseHistograms};
use prometheus_client::encoding::DescriptorEncoder;

use super::family::histograms;
use crate::observability::report::totals::merge_phase;

/// Microseconds, powers of two: 64 µs to 16.8 s; with the open one sixteen buckets.
const EDGES: [u64; 15] = [
    64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 524_288,
    2_097_152, 16_777_216,
];

pub(super) fn encode_services(
    services: &[&ServiceView],
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    let rows = services.iter().flat_map(|view| {
        ExchangePhaseHistograms::NAMES.iter().enumerate().map(move |(at, phase)| {
            let sum: HistogramSum =
                merge_phase(view.stats.slots.iter().map(|slot| slot.phases.all()[at]));
            ([("service", view.config.name.as_str()), ("phase", *phase)], sum)
        })
    });
    let before = services.iter().flat_map(|view| {
        RequestPhaseHistograms::NAMES.iter().enumerate().map(move |(at, phase)| {
            let slots = view.stats.slots.iter();
            let sum = merge_phase(slots.map(|slot| slot.request_phases.all()[at]));
            ([("service", view.config.name.as_str()), ("phase", *phase)], sum)
        })
    });
    let rows = before.chain(rows);
    histograms(to, "steelyard_exchange_phase", "Duration of exchanges by phase.", &EDGES, rows)
}
