//! What goes before bodies: headers of the PROXY protocol.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod announced;
mod named;
