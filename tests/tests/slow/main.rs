//! Time attribution of slow exchanges by the running balancer: planted causes, on the loopback and over long links.
//!
//! Each cause is planted several times; 200 times in the long variant.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod captured;
mod counted;
mod exchange_route;
mod failures;
mod far;
mod http3_client;
mod loopback;
mod mixed;
mod plant;
mod plant_run;
mod processor;
mod queue;
mod reports;
mod setup;
mod tcp;
mod upstream;
