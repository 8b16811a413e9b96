//! What goes before bodies and what is done with them: headers of the PROXY protocol, compressed
//! answers, bodies that are read ahead.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod announced;
mod buffered;
mod compressed;
mod named;
