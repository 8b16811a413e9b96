//! Who may have a connection, and whose is closed so that somebody else can have one.
//!
//! Connections that do nothing never take a place that others need: at a limit they are closed for newcomers, first those
//! that have been silent for a while, last those that have only just come. What is in use is never closed. Above half of a limit no client may have more than its share. Time and counts
//! come in; it closes nothing itself.

mod chunked_vec;
mod client_counts;
mod client_share;
mod half_open;
mod keyed_hasher;
mod slab;
mod table;

pub use client_counts::{ClientConnectionCount, ClientConnectionCounts};
pub use client_share::{
    AdmissionPhase, CLIENT_HELLO_GRACE, ClientKey, ClientShare, LEAST_SHARE, STALL_TIMEOUT,
};
pub use slab::{ConnectionHandle, ConnectionScope};
pub use table::{AdmissionTable, ClosedConnection, EvictionCandidate, HandshakeAdmission};
