//! Plans as rows: from one picture to the next, what is written into the maps and in which order.

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
