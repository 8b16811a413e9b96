//! Load from several machines: agents that make it and the one who leads them, over TLS with a token that both know.
//!
//! Counts travel as histograms and are merged as such; percentiles never are.

pub mod agent;
mod agent_monitor;
pub mod channel;
pub mod leader;
pub mod protocol;
