//! The configuration of bodies that are read ahead of who is to have them.
//!
//! Numbers and words alone; the request plane reads.

use serde::Serialize;

/// Bodies of a service's exchanges that are buffered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct BufferConfig {
    /// A request's body is read whole before a server is chosen, up to so many bytes; `None`: it is not.
    pub request: Option<u64>,
    /// What becomes of a longer one, and where the memory of the service is used up.
    pub beyond: BufferOverflow,
    /// An answer's body is read so many bytes ahead of its client; `None`: what one connection may hold.
    pub response: Option<u64>,
    /// Bytes for all of them together, over all workers; default 64 MiB.
    pub memory: u64,
}

/// What becomes of a request's body that is not to be kept whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BufferOverflow {
    /// It goes on to a server while it comes (default).
    Stream,
    /// It is refused: 413, or 503 where the memory is used up.
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
