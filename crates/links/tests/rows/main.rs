//! The kernel's program as rows: packets go in through its test run, and the link that each takes is what the model in
//! `links::choose` says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may fail")]

mod cost;
mod rejected;
mod selected;
mod study;
mod world;
