//! The data plane: one thread per core, each an edge-triggered loop around state machines that are independent of
//! sockets.
//!
//! It carries HTTP/1, HTTP/2 and HTTP/3 requests, and TCP bytes, between clients and servers. Files, the API and BPF
//! are handled in other crates.

mod accounting;
mod conn;
mod downstream;
mod exchange;
mod plane;
mod rt;
mod servers;
#[cfg(any(test, feature = "simulation"))]
#[cfg_attr(
    not(test),
    allow(dead_code, reason = "most of the world is for the tests of this crate")
)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a broken promise ends a simulation")]
pub mod simulation;
pub mod tls;
mod upstream;
mod worker;

pub use crate::accounting::observer::{
    AccessLogOptions, PlaneObservation, PlaneObserver, PlaneOptions,
};
pub use crate::conn::ports::TimeWaitPorts;
pub use plane::{OpenCounts, PlaneStartError, PortUse, RequestPlane};
pub use rt::socket;
pub use tls::client_certificate;
pub use worker::authentication::auth_object;
