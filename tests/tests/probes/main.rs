//! Health checks of real servers, and of peers that hang, respond slowly, send garbage or report that they are not
//! ready.

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
