//! What an origin is to serve, and where.
//!
//! Plain data; `handle` starts it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::seen::Seen;

/// An origin to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    /// What to serve.
    pub kind: Kind,
    /// Its name, in the `x-origin` field of every answer. Visible ASCII.
    pub name: String,
    /// Close connections on which nothing happened for so long.
    pub idle_close: Option<Duration>,
    /// Where identified requests are recorded; give several origins the same to see duplicates among them.
    pub seen: Arc<Seen>,
}

/// What an origin serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// HTTP; `body` is the size of the answer to `/`, at most 1 GiB.
    Http {
        /// Bytes.
        body: u64,
    },
    /// Every byte back.
    Echo,
}

impl Options {
    /// On a loopback port of the kernel's choice.
    pub fn new(name: &str, kind: Kind) -> Options {
        Options {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            kind,
            name: name.to_owned(),
            idle_close: None,
            seen: Arc::new(Seen::default()),
        }
    }
}
