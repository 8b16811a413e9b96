//! Integration tests of the HTTP/1 codec: the corpus, properties, and a comparison with a second parser.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers fail the test"
)]

mod corpus;
mod differential;
mod mutate;
mod properties;
mod reader;
mod replay;
mod written;
