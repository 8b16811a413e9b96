//! The request plane: one thread per core, each an edge-triggered loop around machines that know no sockets.
//!
//! It carries requests of HTTP/1, HTTP/2 and HTTP/3, and TCP bytes, between clients and servers. It knows nothing of files, the API or BPF.

mod accept;
mod account;
mod admission;
mod after;
mod again;
mod back;
mod breaking;
mod buffers;
mod caller;
mod census;
mod changes;
mod coder;
mod connected;
mod connection;
mod connection_auth;
mod cuts;
mod exchange;
mod felt;
#[cfg(any(test, feature = "simulation"))]
mod fixture;
mod flow;
mod front;
mod greeting;
mod hash_on;
mod hedge;
mod http2;
mod http3;
mod incoming;
mod kept;
mod kept_bytes;
mod local;
mod measured;
mod meter;
mod mirror;
mod misread;
mod outside;
mod patience;
mod plane;
mod ports;
mod prelude;
pub mod proof;
mod queue;
mod quic;
mod random;
mod refuse;
mod relay;
mod reported;
mod resend;
mod rt;
mod ruled;
mod said;
mod seal;
mod shelf;
#[cfg(any(test, feature = "simulation"))]
#[cfg_attr(
    not(test),
    allow(dead_code, reason = "most of the world is for the tests of this crate")
)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a broken promise ends a simulation")]
pub mod simulation;
pub mod socket;
mod sticking;
mod stream;
mod sys;
mod tcp;
pub mod tls;
mod traced;
mod tunnel;
mod upstream;
mod worker;

pub use outside::{Access, Observation, Outside, PlaneOptions};
pub use plane::{Open, Plane, PortUse, StartError};
pub use ports::Resting;
