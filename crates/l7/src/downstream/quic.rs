//! QUIC towards clients: sockets of UDP, the machine of one endpoint, and connections as what carries streams.
//!
//! The machine is `quinn-proto`, which knows no socket and no clock; here a worker's tasks drive it. Every worker has an
//! endpoint of its own at each address. The ids of its connections say whose they are, and packets that come
//! elsewhere, because their client has moved or another process reads the socket, are handed on (`packet_relay`). What the
//! streams carry is none of its business.

mod congestion_control;
pub mod connection;
pub mod connection_id;
pub mod endpoint;
pub mod open_stream;
pub mod packet_relay;
mod path;
mod server_config;
pub mod udp;
