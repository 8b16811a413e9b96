//! Keys and certificates: read (`cert_files`, `trust_store`), stored and compared with the files on disk
//! (`cert_store`), watched (`cert_watch`).
//!
//! The request plane builds its TLS configuration from them. Nothing of a key is ever logged.

pub mod acme;
mod active_cert;
pub mod cert_files;
pub mod cert_store;
pub mod cert_watch;
pub mod client_config;
pub mod client_trust;
pub mod https_request;
mod key_set_fetch;
pub mod secrets;
pub(crate) mod sticky_secrets;
pub mod trust_store;
