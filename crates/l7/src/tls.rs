//! TLS for the request plane: what a service or a pool uses (`ServerTls`, `ClientTls`), made of what its owner has
//! read, and the machine of one connection (`session`).
//!
//! It opens no file and no socket, and knows no HTTP.

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
