//! TLS for the request plane: what a service or a pool uses (`ServerTls`, `ClientTls`), made of what its owner has
//! read, and the machine of one connection (`session`).
//!
//! It opens no file and no socket, and knows no HTTP.

pub mod aside;
pub mod authorities;
pub mod client;
pub mod clients;
pub mod group;
pub mod identity;
pub mod judged;
pub mod names;
pub mod policy;
pub mod purpose;
pub mod revoked;
pub mod server;
pub mod session;
pub mod tickets;
pub mod trouble;
pub mod trust;
