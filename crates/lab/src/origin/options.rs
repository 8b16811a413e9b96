//! Options of an origin: its protocol, address and name.
//!
//! Plain data; `handle` starts the origin.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::request_log::RequestIdLog;

#[derive(Clone, Debug)]
pub struct OriginOptions {
    /// Listen address; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    pub kind: OriginKind,
    /// The value of the `x-origin` field in every response. Visible ASCII.
    pub name: String,
    /// Closes connections that were idle for this time.
    pub idle_close: Option<Duration>,
    /// Records requests with an identifier; origins that share it reveal duplicates among them.
    pub request_log: Arc<RequestIdLog>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginKind {
    /// HTTP; `body` is the size of the response to `/`, at most 1 GiB.
    Http {
        body: u64,
    },
    Echo,
}

impl OriginOptions {
    /// Options for a loopback port that the kernel chooses.
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
