//! What an origin is to serve, and where.
//!
//! Plain data; `handle` starts it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::request_log::RequestIdLog;

/// An origin to start.
#[derive(Clone, Debug)]
pub struct OriginOptions {
    /// Where to listen; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    pub kind: OriginKind,
    /// Its name, in the `x-origin` field of every answer. Visible ASCII.
    pub name: String,
    /// Close connections on which nothing happened for so long.
    pub idle_close: Option<Duration>,
    /// Where identified requests are recorded; give several origins the same to see duplicates among them.
    pub request_log: Arc<RequestIdLog>,
}

/// What an origin serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginKind {
    /// HTTP; `body` is the size of the answer to `/`, at most 1 GiB.
    Http {
        body: u64,
    },
    Echo,
}

impl OriginOptions {
    /// On a loopback port of the kernel's choice.
    pub fn new(name: &str, kind: OriginKind) -> OriginOptions {
        OriginOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            kind,
            name: name.to_owned(),
            idle_close: None,
            request_log: Arc::new(RequestIdLog::default()),
        }
    }
}
