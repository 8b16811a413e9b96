//! Two balancers that share an address, in namespaces: whatever happens to one of them, one answers; and the same
//! beside keepalived.
//!
//! Each test has a network of its own. They need root; without it they say so, and in the gate they fail.

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
