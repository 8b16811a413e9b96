//! The configuration from outside: rows of mistakes, inheritance, explanation, differences, robustness.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers fail the test"
)]

mod acts;
mod differ;
mod edited;
mod explained;
mod fresh;
mod good;
mod heartbeat;
mod hostile;
mod identity;
mod link;
mod mistakes;
mod names;
mod never;
mod ordered;
mod packets;
mod promised;
mod resilience;
mod rules;
mod shared;
mod sharing;
mod ten;
mod uplink;
mod vrrp;
mod warned;
