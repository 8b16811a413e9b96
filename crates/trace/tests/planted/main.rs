//! Captures with a planted cause: what the analysis must find in each, whole and with packets missing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail the test")]

mod capture;
mod cases;
mod causes;
mod drops;
mod endless;
mod ends;
mod failure_rows;
mod failures;
mod healthy_rows;
mod host;
mod model;
mod notices;
mod quic;
mod rules;
mod script;
mod spoken;
mod streams;
mod truth;
mod waits;
