//! A worker's connections to clients and servers: byte streams with deadlines, TLS, HTTP/2 transport, NTLM and
//! Negotiate, source ports, and TCP_INFO sampling.

pub(crate) mod client_peer;
pub(crate) mod connection_auth;
pub(crate) mod deadline;
pub(crate) mod http2;
pub(crate) mod ports;
pub(crate) mod sampling;
pub(crate) mod stream;
pub(crate) mod tls_state;
pub(crate) mod upstream_connection;
