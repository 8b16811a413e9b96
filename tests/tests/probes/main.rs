//! Probes against real servers and against peers that hang, crawl, talk rubbish or say that they are not ready.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod agents;
mod fake_servers;
mod faulty_proxy;
mod kept;
mod loaded;
mod mail;
mod mariadb;
mod matrix;
mod programs;
mod real;
mod states;
