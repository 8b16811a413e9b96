//! HTTP/2 parts that client and server connections share, and HTTP/2 connections to servers.
//!
//! `wire::http2` implements the protocol without I/O; `connection` shares its machine among the streams, and `transport`
//! moves its bytes. Bodies are converted from and to HTTP/1.1 (`body_reader`, `stream_body`, `body_writer`). A stream to
//! a server looks like an HTTP/1.1 connection (`upstream_stream`); `connection_pool` holds the connections to a server,
//! and `upstream_driver` drives one. `bdp_estimator` sets the window sizes, and `flush_delay` keeps what delayed a flush.
//! Streams of clients are in `downstream::http2`.

pub(crate) mod bdp_estimator;
pub mod body_reader;
pub(crate) mod body_writer;
pub(crate) mod connection;
pub mod connection_pool;
pub(crate) mod flush_delay;
pub(crate) mod request_fields;
pub(crate) mod stream_body;
pub(crate) mod transport;
pub mod upgrade;
pub(crate) mod upstream_driver;
pub(crate) mod upstream_stream;
