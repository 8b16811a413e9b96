//! What a configuration can carry on a machine: arithmetic with units, and the limit that is reached first.
//!
//! Every figure follows from stated quantities; nothing is measured here. A limit that does not follow from them is
//! absent instead of guessed.

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
