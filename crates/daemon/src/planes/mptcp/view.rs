//! The view of Multipath TCP, for `status`. The task publishes it.

use links::mptcp::{MptcpEndpointEntry, MptcpFlow};

#[derive(Clone, Debug, Default)]
pub struct MptcpView {
    /// Endpoints of the kernel's.
    pub endpoints: Vec<MptcpEndpointView>,
    /// Connections in this network namespace.
    pub count: usize,
    /// The first of them.
    pub connections: Vec<MptcpConnectionView>,
    /// Why no endpoint is set.
    pub last_error: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub struct MptcpEndpointView {
    /// As the kernel has it.
    pub endpoint: MptcpEndpointEntry,
    pub ours: bool,
}

#[derive(Clone, Debug)]
pub struct MptcpConnectionView {
    pub summary: MptcpFlow,
    pub subflows: Vec<MptcpFlow>,
}
