//! The packet plane: an XDP datapath in C (`bpf/`), and the user space code for it.
//!
//! The crate does not decide configurations or health: snapshots come in, and writes to the maps come out.

pub mod abi;
pub mod address_leases;
pub mod apply;
mod client_connections;
pub mod connection_counts;
pub mod counts;
pub mod datapath;
pub mod decapsulation;
pub mod events;
pub mod flow_samples;
pub mod layout;
pub mod map_sizes;
pub mod map_write;
pub mod next_hops;
pub mod oversized;
pub mod plan;
pub mod replica;
pub mod sweeper;

pub use datapath::{DatapathError, PacketDatapath};
pub use map_sizes::TableSizes;
