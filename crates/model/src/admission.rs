//! Admission control: which clients may have a connection, and which connection is closed for a newcomer at a limit.
//!
//! Idle connections never take a place that others need. At a limit they are closed for newcomers, first those that
//! have been silent for a while, last the newest ones. Connections in use are never closed.
//!
//! Above half of a limit no client may have more than its share. Time and counts are passed in; callers close the
//! connections.

mod chunked_vec;
mod client_counts;
mod client_share;
mod eviction;
mod half_open;
mod keyed_hasher;
mod slab;
mod table;

pub use client_counts::{ClientConnectionCount, ClientConnectionCounts};
pub use client_share::{
    AdmissionPhase, CLIENT_HELLO_GRACE, ClientKey, ClientShare, LEAST_SHARE, STALL_TIMEOUT,
};
pub use eviction::EvictionCandidate;
pub use slab::{ConnectionHandle, ConnectionScope};
pub use table::{AdmissionTable, ClosedConnection, HandshakeAdmission};
