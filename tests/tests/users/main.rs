//! SLOs and user experience as the running balancer reports them: slow, broken and returning servers, clients that
//! disconnect, and a restart.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod restart;
mod setup;
mod slo;
