//! Metrics of captures that rules requested.

use std::fmt::Error;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::counters;
use crate::observability::capture::CaptureCounts;

pub(super) fn encode(counts: CaptureCounts, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let CaptureCounts { buffered: recorded, evicted, dropped, written: made, failed } = counts;
    let rows = [("recorded", recorded), ("evicted", evicted), ("dropped", dropped)];
    let help = "Packets of captured services: recorded in memory, overwritten by later ones, lost.";
    let rows = rows.map(|(result, count)| ([("result", result)], count));
    counters(to, "steelyard_capture_packets", None, help, rows)?;
    let rows =
        [("made", made), ("not-made", failed)].map(|(result, count)| ([("result", result)], count));
    counters(to, "steelyard_captures", None, "Requested captures by result.", rows)
}
