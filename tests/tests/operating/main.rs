//! Operating by hand and by others: orders that act, are recorded and taken back; servers that are found; programs that
//! are told; what was.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod clock;
mod collected;
mod completed;
mod found;
mod handed;
mod orders;
mod past;
mod planted;
mod quiesce;
mod refused;
mod services;
mod staying;
mod told;
mod top;
mod unkept;
