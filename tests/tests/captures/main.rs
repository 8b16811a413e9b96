//! Trace analysis compared with other programs: counts against tshark and tcptrace, on the recreated study and on real
//! connections with planted causes. Also the command `explain trace`.
//!
//! Without tshark and tcptrace the comparison is skipped, which fails in the gate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod analysed;
mod beside;
mod planted;
mod scripted_exchange;
mod verb;
mod watch;
mod watch_screen;
mod window_factors;
