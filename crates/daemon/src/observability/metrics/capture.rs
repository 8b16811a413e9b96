//! Metrics of captures that rules requested.

use std::fmt::Error;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::counters;
use crate::observability::capture::CaptureCounts;

pub(super) fn encode(counts: CaptureCounts, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let CaptureCounts { buffered: kept, evicted, dropped, written: made, failed } = counts;
    let rows = [("kept", kept), ("evicted", evicted), ("dropped", dropped)];
    let help = "Packets of services that captures are about: kept in memory, of those gone for later ones, lost.";
    let rows = rows.map(|(what, count)| ([("what", what)], count));
    counters(to, "steelyard_capture_packets", None, help, rows)?;
    let rows =
        [("made", made), ("not-made", failed)].map(|(what, count)| ([("result", what)], count));
    counters(to, "steelyard_captures", None, "Captures that were called for.", rows)
}
