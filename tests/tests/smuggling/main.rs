//! Request smuggling: no server sees other requests than the balancer forwarded, whatever a client sends.
//!
//! The cases are in `http1.txt` and `http2.txt`. The servers are common ones, two of them also in their most lenient
//! configuration. Server connections are reused, so that a missing or surplus byte shows in the next request.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod http1;
mod http2;
mod origins;
mod outcome;
mod table;
