//! Flow samples: what the datapath records of one in so many forwarded connections becomes time attribution, in the
//! terms that exchanges and captures are explained with.
//!
//! Pure: samples and the time are passed in. How packets become samples is the datapath's job.

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
