//! What is seen of connections whose packets are forwarded: the datapath writes down what the packets of one in so many
//! show, and here it becomes whose time it was, and why, in the words that exchanges and captures are explained with.
//!
//! Pure: what was read and the time come in. How packets become figures is the datapath's own.

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
