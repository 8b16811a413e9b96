//! Fuzz targets as plain functions of bytes, and their drivers on stable Rust.
//!
//! A target panics when a property does not hold. The tests of this package run each target with its stored corpus and
//! with seeded mutations of it. The program `guided` passes the same function to libFuzzer, which is guided by
//! coverage.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a panic is how a target reports, and the long runs are told on standard output"
)]

pub mod beat;
pub mod config;
pub mod connection;
pub mod convert;
pub mod corpus_files;
pub mod dialogue;
pub mod drive;
pub mod fingerprint;
pub mod hello;
pub mod history;
pub mod http1;
pub mod http2;
pub mod http2_machine;
pub mod http3;
pub mod names;
pub mod patch;
pub mod path;
pub mod proxy;
pub mod replica;
pub mod target;
pub mod targets;
pub mod trace;
pub mod vrrp;

#[path = "../../crates/wire/tests/http1/reader.rs"]
pub mod corpus;
#[path = "../../crates/wire/tests/http1/mutate.rs"]
pub mod mutate;
#[path = "../../crates/wire/tests/http1/replay.rs"]
pub mod replay;
