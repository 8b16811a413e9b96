//! The packet plane: an XDP datapath in C (`bpf/`), and what user space needs to talk to it.
//!
//! It decides nothing about configurations or health; that comes in as pictures and plain writes to its maps.

pub mod abi;
pub mod apply;
pub mod counts;
mod crowd;
pub mod decap;
pub mod holds;
pub mod hops;
pub mod insight;
pub mod layout;
pub mod notices;
pub mod oversized;
pub mod plan;
pub mod plane;
pub mod replica;
pub mod sizes;
pub mod sweep;
pub mod write;

pub use plane::{OpenError, Plane};
pub use sizes::Sizes;
