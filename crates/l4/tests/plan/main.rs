//! Plans as rows: the writes from one snapshot to the next, and their order.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may fail")]

mod explanations;
mod families;
mod indexes;
mod maps;
mod pictures;
mod property;
mod restart;
mod shares;
mod writes;
