//! HTTP/2 parts that client and server connections share, and HTTP/2 connections to servers.
//!
//! The `h2` crate implements the protocol over a worker's connection (`transport`). Bodies are converted from and to
//! HTTP/1.1 (`body_reader`, `body_writer`). A stream to a server looks like an HTTP/1.1 connection (`upstream_stream`),
//! and `connection_pool` drives the connections to a server. `bdp_estimator` sets the window sizes, and `flood` limits
//! abusive peers. Streams of clients are in `downstream::http2`.

pub(crate) mod bdp_estimator;
pub mod body_reader;
pub(crate) mod body_writer;
pub(crate) mod connection;
pub mod connection_pool;
pub mod flood;
pub(crate) mod transport;
pub mod upgrade;
pub(crate) mod upstream_stream;
