//! The checked configuration of body buffering.
//!
//! Plain data; the request plane does the buffering.

use serde::Serialize;

/// Buffering of bodies of a service.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct BufferConfig {
    /// Request bodies up to this size are read completely before a server is chosen; `None`: not buffered.
    pub request: Option<u64>,
    /// Action for a longer body, and when the service's memory is exhausted.
    pub beyond: BufferOverflow,
    /// Response bodies are read this many bytes ahead of the client; `None`: the connection's usual limit.
    pub response: Option<u64>,
    /// Memory for all buffered bodies of the service, over all workers, bytes; default 64 MiB.
    pub memory: u64,
}

/// Action for a request body that cannot be buffered completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BufferOverflow {
    /// Stream the body to a server while it arrives (default).
    Stream,
    /// Reject the request: 413, or 503 when the memory is exhausted.
    Refuse,
}

impl Default for BufferConfig {
    fn default() -> Self {
        BufferConfig {
            request: None,
            beyond: BufferOverflow::Stream,
            response: None,
            memory: 64 << 20,
        }
    }
}
