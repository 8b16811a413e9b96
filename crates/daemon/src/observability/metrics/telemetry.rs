//! Metrics of the export to an OpenTelemetry collector.

use std::fmt::Error;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::counters;
use crate::observability::telemetry::ExportCounts;

pub(super) fn encode(counts: ExportCounts, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let ExportCounts { sent, dropped } = counts;
    let rows = [("sent", sent), ("dropped", dropped)].map(|(what, n)| ([("result", what)], n));
    let help = "Spans and log records for the OpenTelemetry collector: accepted, or dropped.";
    counters(to, "steelyard_telemetry", None, help, rows)
}
