//! The packet plane: an XDP datapath in C (`bpf/`), and what user space needs to talk to it.
//!
//! It decides nothing about configurations or health; that comes in as plain writes to its maps.

pub mod abi;
pub mod decap;
pub mod plane;

pub use plane::{OpenError, Plane, Sizes};
