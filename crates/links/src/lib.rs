//! Bundles of links: several links to one far end, used as one. Uplinks: several gateways, used side by side.
//!
//! What a packet does is decided in the kernel by a program of traffic control on the bundle's device (`bpf/`); this
//! crate computes its tables, judges links, equalises delays, and loads it. It opens no socket and reads no clock.

pub mod advice;
pub mod bond;
pub mod choose;
pub mod echo;
pub mod equal;
pub mod forecast;
pub mod life;
pub mod mptcp;
pub mod netlink;
pub mod plane;
pub mod schedule;
pub mod shelf;
pub mod steer;
pub mod table;
pub mod train;
pub mod uplink;
