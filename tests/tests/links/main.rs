//! Bundles of links between two hosts with a balancer each, over emulated links of set rate and delay: the throughput
//! of one stream and of many flows, and the effect of a failed link.
//!
//! Figures are paired: one link and the bundle are measured on the same machine within a minute. Each test has a
//! separate network and needs root; without root it is skipped, which fails in the gate. With `STEELYARD_LONG=1` links
//! have 500 Mbit/s and runs are long. Otherwise they are slower and shorter, and only large effects are asserted.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod failing;
mod figures;
mod flows;
mod kernel;
mod pins;
mod stream;
mod topology;
mod traffic;
