//! HTTP/3: clients of other vendors, connection migration, hostile clients, and connection shutdown.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod access;
mod authority;
mod clients;
mod crowded;
mod ends;
mod hostile;
mod moving;
mod pages;
mod sessions;
mod slow;
