//! The checked configuration of automatic packet captures.

use crate::config::ip_prefix::IpPrefix;
use crate::limit::Limit;
use serde::Serialize;
use std::time::Duration;

/// A condition, and what is captured when it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CaptureConfig {
    pub name: String,
    /// The service; `None`: every proxied service.
    pub service: Option<String>,
    /// An exchange that takes longer triggers the capture.
    pub latency: Option<Duration>,
    /// An exchange whose time has one of these causes triggers the capture.
    pub cause: Vec<Limit>,
    /// Networks of clients; empty: all clients.
    pub from: Vec<IpPrefix>,
    /// More failed exchanges of a service than this percentage trigger the capture.
    pub errors: Option<u8>,
    /// Bytes stored of a packet that starts an HTTP/1 head, beyond its TCP header.
    pub payload: u32,
    /// Limit for stored bytes in memory, and for the size of a file.
    pub size: u64,
    /// How long the capture continues after it started.
    pub time: Duration,
    /// Pause from the end of a capture to the start of the next.
    pub pause: Duration,
    /// Limit for stored files.
    pub keep: usize,
}
