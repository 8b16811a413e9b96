//! Throughput of TCP and UDP between two ends, over socket buffers, message sizes and directions.
//!
//! One end serves (`serve`), the other orders and measures (`client`); what they say to each other is in `ask`. Both are
//! ours: nothing else is spoken to.

pub mod ask;
pub mod client;
mod datagrams;
mod flow;
pub mod matrix;
pub mod pace;
pub mod serve;
mod socket;
