//! HTTP/2 in the request plane: connections that carry many exchanges at once, towards clients and towards servers.
//!
//! The `h2` crate speaks the protocol; here it is driven by a worker's tasks (`carrier`), its streams are given the form
//! of HTTP/1 connections (`answering`, `asking`), and what it leaves to its user is limited and counted. What becomes
//! of a request is decided by `exchange`, as for HTTP/1.

pub(crate) mod bdp_estimator;
pub mod body_reader;
pub(crate) mod body_writer;
pub(crate) mod connection;
pub mod connection_pool;
pub mod flood;
pub(crate) mod transport;
pub mod upgrade;
pub(crate) mod upstream_stream;
