//! Connections of a worker: reads, writes and waits with deadlines, under TLS or not, and what is known of the peer.

pub(crate) mod client_peer;
pub(crate) mod connection_auth;
pub(crate) mod deadline;
pub(crate) mod http2;
pub(crate) mod ports;
pub(crate) mod sampling;
pub(crate) mod stream;
pub(crate) mod tls_state;
pub(crate) mod upstream_connection;
