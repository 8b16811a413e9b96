//! What a configuration can carry on a machine: arithmetic with units, and the first limit that will be met.
//!
//! Every figure comes from stated quantities; nothing is measured here, and a limit that cannot be known from what was
//! stated is absent instead of guessed.

pub mod demand;
pub mod failover;
pub mod forecast;
pub mod fragment;
pub mod headroom;
pub mod path;
pub mod port_exhaustion;
pub mod port_shares;
pub mod ports;
pub mod quantity;
pub mod replication_framing;
pub mod replication_traffic;
pub mod wire;
