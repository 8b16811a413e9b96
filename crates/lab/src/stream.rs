//! Throughput of TCP and UDP between two ends, over socket buffers, message sizes and directions.
//!
//! One end serves (`serve`), the other orders and measures (`client`); what they say to each other is in `ask`. Both are
//! ours: nothing else is spoken to.

pub mod client;
pub mod matrix;
pub mod request;
pub mod send_rate;
pub mod server;
mod socket;
mod tcp;
mod udp;
