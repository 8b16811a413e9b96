//! Client connections: listeners and admission, PROXY protocol, TLS and ClientHello, and serving HTTP/1.1, HTTP/2,
//! HTTP/3 over QUIC, and TCP.

pub(crate) mod accept;
pub(crate) mod client_hello;
pub(crate) mod connection;
pub(crate) mod downstream_tls;
pub(crate) mod http2;
pub(crate) mod http3;
pub(crate) mod malformed_request;
pub(crate) mod proxy_protocol;
pub(crate) mod quic;
pub(crate) mod tcp;
