//! Bundles of links between two hosts with a balancer each, over lines of set rate and length: what one stream gets, what
//! many flows get, and what is left when a link is pulled.
//!
//! Figures are paired: the same machine, the same minute, one link and the bundle. Each test has a network of its own.
//! They need root; without it they say so, and in the gate they fail. With `STEELYARD_LONG=1` links are of 500 Mbit/s and
//! runs as long as figures need; otherwise they are slower and shorter, and only what cannot be missed is asked.

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
