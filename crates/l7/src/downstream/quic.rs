//! QUIC towards clients: UDP sockets, endpoints, and connections with streams.
//!
//! `quinn-proto` implements the protocol without a socket or a clock; a worker's tasks drive it. Each worker has an
//! endpoint per address. Connection ids identify their endpoint. Packets may reach another endpoint when the client
//! moves or another process reads the socket; they are forwarded (`packet_relay`).

mod congestion_control;
pub mod connection;
pub mod connection_id;
pub mod endpoint;
pub mod open_stream;
pub mod packet_relay;
mod path;
mod server_config;
pub mod udp;
