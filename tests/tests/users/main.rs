//! What users meet, told by the running balancer: servers that are slow, broken and back, clients that leave, a restart.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod restart;
mod setup;
mod slo;
