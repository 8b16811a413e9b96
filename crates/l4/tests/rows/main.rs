//! The datapath as rows: a packet goes in through the kernel's test run, a verdict and a packet come out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may fail")]
#![allow(dead_code, reason = "a toolbox of which each row takes what it needs")]

mod mac;
mod nat;
mod packet;
mod world;
