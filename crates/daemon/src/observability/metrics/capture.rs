//! Metrics of captures that rules requested.

use std::fmt::Error;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::counters;
use crate::observability::capture::CaptureCounts;

pub(super) fn encode(counts: CaptureCounts, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let CaptureCounts { buffered: kept, evicted, dropped, written: made, failed } = counts;
    let rows = [("kept", kept), ("evicted", evicted), ("dropped", dropped)];
    let help = "Packets of captured services: recorded in memory, overwritten by later ones, lost.";
    let rows = rows.map(|(what, count)| ([("what", what)], count));
    counters(to, "steelyard_capture_packets", None, help, rows)?;
    let rows =
        [("made", made), ("not-made", failed)].map(|(what, count)| ([("result", what)], count));
    counters(to, "steelyard_captures", None, "Requested captures by result.", rows)
}
