//! QUIC towards clients: UDP sockets, endpoints, and connections that carry streams.
//!
//! `quinn-proto` speaks the protocol without a socket or a clock; a worker's tasks drive it. Every worker has an
//! endpoint at each address. Connection ids name their endpoint, and packets that reach another one, because the client
//! has moved or another process reads the socket, are forwarded (`packet_relay`).

mod congestion_control;
pub mod connection;
pub mod connection_id;
pub mod endpoint;
pub mod open_stream;
pub mod packet_relay;
mod path;
mod server_config;
pub mod udp;
