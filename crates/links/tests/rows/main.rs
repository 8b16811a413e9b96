//! The kernel's program in rows: test runs of packets, whose links must be those of the model in
//! `links::link_selection`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may fail")]

mod cost;
mod rejected;
mod selected;
mod study;
mod world;
