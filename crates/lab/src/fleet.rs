//! Load from several machines: agents make it and a leader controls them, over TLS with a shared token.
//!
//! Counts travel as histograms and are merged as histograms; percentiles cannot be merged.

pub mod agent;
mod agent_monitor;
pub mod channel;
pub mod leader;
pub mod protocol;
