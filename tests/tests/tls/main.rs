//! TLS with clients and with servers, and the handling of bytes that are not TLS.

#![allow(clippy::unwrap_used, reason = "a test that fails is told best by panicking")]

mod authority;
mod clients;
mod crowded;
mod identity;
mod looked_at;
mod refused;
mod renewed;
mod special_files;
mod sticky;
mod strict;
mod trusted;
mod upstream;
