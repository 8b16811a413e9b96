//! PROXY protocol headers before a body, and the handling of bodies: compression, request buffering and limits.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod announced;
mod buffered;
mod compressed;
mod limited;
mod named;
