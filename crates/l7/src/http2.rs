//! HTTP/2 in the request plane: connections that carry many exchanges at once, towards clients and towards servers.
//!
//! The `h2` crate speaks the protocol; here it is driven by a worker's tasks (`carrier`), its streams are given the form
//! of HTTP/1 connections (`answering`, `asking`), and what it leaves to its user is limited and counted. What becomes
//! of a request is decided by `exchange`, as for HTTP/1.

mod bdp_estimator;
pub mod body_reader;
mod body_writer;
mod connection;
pub mod connection_pool;
mod downstream_stream;
pub mod flood;
mod request;
pub mod serve;
mod transport;
pub mod upgrade;
mod upstream_stream;
