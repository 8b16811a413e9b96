//! How Multipath TCP stands, for `status`. It is made by the task and changed by nobody.

use links::mptcp::{MptcpEndpointEntry, MptcpFlow};

/// Everything.
#[derive(Clone, Debug, Default)]
pub struct MptcpView {
    /// Endpoints of the kernel's.
    pub endpoints: Vec<MptcpEndpointView>,
    /// Connections in this network namespace.
    pub count: usize,
    /// The first of them.
    pub connections: Vec<MptcpConnectionView>,
    /// Why no endpoint stands.
    pub last_error: Option<String>,
}

/// An endpoint.
#[derive(Clone, Copy, Debug)]
pub struct MptcpEndpointView {
    /// As the kernel has it.
    pub endpoint: MptcpEndpointEntry,
    /// We set it.
    pub ours: bool,
}

/// A connection.
#[derive(Clone, Debug)]
pub struct MptcpConnectionView {
    /// As a whole.
    pub summary: MptcpFlow,
    /// Its subflows.
    pub subflows: Vec<MptcpFlow>,
}
