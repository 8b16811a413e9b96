//! What a `reverse_proxy` forwards to.

/// A pool, and the only server that it may have.
#[derive(Clone, Debug, Default)]
pub struct ProxyTarget {
    /// The pool's name. `None`: nothing that can be forwarded to.
    pub pool: Option<String>,
    /// The address of the only server, as a Host.
    pub single_host: Option<String>,
    /// The servers are spoken TLS to.
    pub tls: bool,
}
