//! TLS for the data plane: the TLS settings of a service or a pool (`DownstreamTls`, `UpstreamTls`), and the session of
//! one connection (`session`).
//!
//! These modules open no file and no socket, and are independent of HTTP.

pub mod authorities;
pub mod certificate_resolver;
pub mod client_auth;
pub mod client_certificate;
pub mod downstream;
pub mod handshake_cause;
pub mod handshake_observation;
pub mod identity;
pub mod key_exchange;
pub mod key_purpose;
pub mod policy;
pub mod revocation;
pub mod session;
pub mod session_tickets;
pub mod trust;
pub mod upstream;
pub mod verified_client;
