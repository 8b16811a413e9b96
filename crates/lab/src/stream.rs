//! Throughput of TCP and UDP between two ends, over socket buffers, message sizes and directions.
//!
//! `server` is one end; `client` requests runs and measures; `request` defines their messages. Both ends are this
//! program: no other protocol is supported.

pub mod client;
pub mod matrix;
pub mod request;
pub mod send_rate;
pub mod server;
mod socket;
mod tcp;
mod udp;
