//! Keys and certificates: read (`files`, `authorities`), kept and compared with what is on disk (`vault`), looked after (`watch`).
//!
//! What they are made into is the request plane's; nothing of a key is ever said.

pub mod acme;
mod active_cert;
pub mod cert_files;
pub mod cert_store;
pub mod cert_watch;
pub mod client_config;
pub mod client_trust;
pub mod secrets;
pub(crate) mod sticky_secrets;
pub mod trust_store;
