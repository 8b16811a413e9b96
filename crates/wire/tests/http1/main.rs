//! Tests of the HTTP/1 codec from outside: the corpus, properties, and a second parser to agree with.

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
