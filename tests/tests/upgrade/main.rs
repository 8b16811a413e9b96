//! One process after another on the same sockets, while clients go on.
//!
//! What systemd does after a crash is tested in `tests/tests/upgrade_kept.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod failed;
mod taken_over;
