//! Flow samples: converts the datapath's records of sampled connections to time attribution, in the same terms as for
//! exchanges and captures.
//!
//! Pure: it receives samples and the time. The datapath converts packets to samples.

pub mod advice;
mod attribution;
mod delta_store;
mod flow_sample;
mod flow_tracker;

pub use attribution::attribute_time;
pub use delta_store::{FlowDeltaStore, FlowFilter, FlowReport, HandshakeSummary, MAX_SAMPLES};
pub use flow_sample::{FlowSample, FlowSide, FlowSideCounters, FlowWindowScale};
pub use flow_tracker::{FlowDelta, FlowTracker, HandshakeDurations, HandshakeStall};

#[cfg(test)]
mod tests;
