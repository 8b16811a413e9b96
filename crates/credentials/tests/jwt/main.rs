//! Tokens from outside: vectors of the RFCs, attacks, claims and what is mutated.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers fail the test"
)]

mod attacks;
mod claims;
mod issuer;
mod keys;
mod properties;
mod vectors;
