//! The checked configuration of what a service promises its users.
//!
//! What became of it is counted by `model::slo`.

use serde::Serialize;
use std::time::Duration;

/// What a service promises its users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceObjective {
    /// An operation that takes no longer is fast; `None`: speed is not promised.
    pub fast: Option<Duration>,
    /// Operations that are to be fast, parts per million; default 990,000.
    pub share: u32,
    /// Operations that are to succeed, parts per million; default 999,000. `None`: not promised.
    pub available: Option<u32>,
    /// Over so much time; default 30 days.
    pub window: Duration,
    /// Bad operations in an alarm's longer span below which it is not raised; default 10.
    pub at_least: u32,
    /// Networks of clients that are told apart; default 64.
    pub networks: u32,
    /// Bits of a client's network in IPv4; default 24.
    pub mask4: u8,
    /// The same in IPv6; default 56.
    pub mask6: u8,
}
