//! Hostile and hopeless clients against the built program: what breaks the rules, what is slow, what is too much.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod control;
mod corpus;
mod flood;
mod honest_clients;
mod limits;
mod silent;
mod slow;
