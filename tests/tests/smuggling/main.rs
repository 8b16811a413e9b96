//! Smuggling: no server behind us sees other requests than we passed on, whatever a client sends.
//!
//! The cases are in `http1.txt` and `http2.txt`; the servers are the usual ones, two of them also in their most lenient
//! setting. Connections to servers are kept, so that a byte too many or too few shows in the next request.

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
