//! Two balancers with a shared address, in namespaces: whatever fails, exactly one of them answers. Also with
//! keepalived as the peer.
//!
//! Each test has a separate network and needs root; without root it is skipped, which fails in the gate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod clients;
mod elsewhere;
mod failing;
mod figures;
mod full;
mod gated;
mod heartbeat;
mod host;
mod keepalived;
mod lag;
mod long_connections;
mod members;
mod neighbours;
mod orders;
mod pair_apply;
mod planned_changes;
mod replicated;
mod restored;
mod topology;
mod virtual_mac;
mod witness;
