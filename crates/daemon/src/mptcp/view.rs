//! How Multipath TCP stands, for `status`. It is made by the task and changed by nobody.

use links::mptcp::{Flow, Spot};

/// Everything.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Endpoints of the kernel's.
    pub endpoints: Vec<EndpointView>,
    /// Connections in this network namespace.
    pub count: usize,
    /// The first of them.
    pub connections: Vec<Connection>,
    /// Why no endpoint stands.
    pub trouble: Option<String>,
}

/// An endpoint.
#[derive(Clone, Copy, Debug)]
pub struct EndpointView {
    /// As the kernel has it.
    pub spot: Spot,
    /// We set it.
    pub ours: bool,
}

/// A connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// As a whole.
    pub whole: Flow,
    /// Its subflows.
    pub subflows: Vec<Flow>,
}
