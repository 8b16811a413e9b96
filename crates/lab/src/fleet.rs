//! Load from several machines: agents make it and a leader controls them, over TLS with a shared token.
//!
//! Counts are sent and merged as histograms, because percentiles cannot be merged.

pub mod agent;
mod agent_monitor;
pub mod channel;
pub mod leader;
pub mod protocol;
