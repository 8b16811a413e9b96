//! The request plane: one thread per core, each an edge-triggered loop around machines that know no sockets.
//!
//! It carries requests of HTTP/1, HTTP/2 and HTTP/3, and TCP bytes, between clients and servers. It knows nothing of files, the API or BPF.

mod abort_watch;
mod accept;
mod accounting;
mod admission;
mod affinity;
mod buffered_bytes;
mod buffers;
mod circuit_breaker;
pub mod client_certificate;
mod client_hello;
mod client_peer;
mod compressor;
mod connection;
mod connection_auth;
mod deadline;
mod disposition;
mod downstream_tls;
mod exchange;
#[cfg(any(test, feature = "simulation"))]
mod fixture;
mod flow;
mod gauges;
mod hash_key;
mod hedge;
mod http2;
mod http3;
mod idle_pool;
mod incoming_request;
mod load_report;
mod local_reply;
mod logged_request;
mod malformed_request;
mod meter;
mod mirror;
mod observer;
mod outlier_stats;
mod plane;
mod ports;
mod proxy_protocol;
mod quic;
mod random;
mod relay;
mod resend;
mod reserved_descriptors;
mod response_changes;
mod retry_attempts;
mod routing;
mod rt;
mod sampling;
#[cfg(any(test, feature = "simulation"))]
#[cfg_attr(
    not(test),
    allow(dead_code, reason = "most of the world is for the tests of this crate")
)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a broken promise ends a simulation")]
pub mod simulation;
pub mod socket;
mod stream;
mod sys;
mod tcp;
pub mod tls;
mod tls_state;
mod trace_span;
mod tunnel;
mod upstream;
mod upstream_connection;
mod upstream_tls;
mod wait_queue;
mod worker;
mod worker_state;

pub use observer::{AccessLogOptions, PlaneObservation, PlaneObserver, PlaneOptions};
pub use plane::{OpenCounts, PlaneStartError, PortUse, RequestPlane};
pub use ports::TimeWaitPorts;
