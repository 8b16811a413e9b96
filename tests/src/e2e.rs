//! Helpers for end-to-end tests: the built program, servers behind it, clients in front of it.
//!
//! Each test has a separate directory, separate ports and separate processes, and removes them at its end. Every wait
//! has a deadline. A failure panics with the observed state. The helpers assert nothing about the product.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that fails is told best by panicking, and figures are told on standard output"
)]

pub mod balancer;
pub mod balancer_config;
pub mod captures;
pub mod certificate;
pub mod cli_environment;
pub mod client;
pub mod datagrams;
pub mod dir;
pub mod download;
pub mod fdstore;
pub mod flood;
pub mod frames;
pub mod h2client;
pub mod h2origin;
pub mod haproxy;
pub mod http;
pub mod listening_sockets;
pub mod load;
pub mod namespace;
pub mod nginx;
pub mod packet_balancer;
pub mod packet_config;
pub mod pebble;
pub mod process;
pub mod recording_server;
pub mod servers;
pub mod steady_traffic;
pub mod target;
pub mod terminal;
pub mod tools;
pub mod unix_server;
pub mod wait;
pub mod websocket;
