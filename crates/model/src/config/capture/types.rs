//! The checked configuration of captures that rules make.

use crate::config::ip_prefix::IpPrefix;
use crate::limit::Limit;
use serde::Serialize;
use std::time::Duration;

/// A rule, and what is captured when it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CaptureConfig {
    /// Its name, kebab-case.
    pub name: String,
    /// Of this service; `None`: of every proxied one.
    pub service: Option<String>,
    /// An exchange that takes longer.
    pub latency: Option<Duration>,
    /// An exchange most of whose time is one of these.
    pub cause: Vec<Limit>,
    /// Clients that it is about; none: all.
    pub from: Vec<IpPrefix>,
    /// More than so many percent of a service's exchanges fail.
    pub errors: Option<u8>,
    /// Bytes kept of a packet with which a head of HTTP/1 begins, beyond its TCP header.
    pub payload: u32,
    /// Bytes that are kept in memory, and of a file.
    pub size: u64,
    /// How long it goes on after it began.
    pub time: Duration,
    /// From one's end to the next one's beginning.
    pub pause: Duration,
    /// Files that are kept.
    pub keep: usize,
}
