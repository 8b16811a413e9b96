//! Operation of a daemon: server commands and their audit, service discovery, notification programs, and the history.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod access_lines;
mod clock;
mod completion;
mod copies;
mod discovery;
mod draining_clients;
mod first_configuration;
mod history;
mod idle;
mod maintenance;
mod normal_user;
mod notifications;
mod orders;
mod planted;
mod quiesce;
mod refused;
mod rotation;
mod services;
mod support_archive;
mod telemetry;
mod top;
mod unkept;
