//! HTTP/3 towards clients: QUIC connections with requests, each of which looks like an HTTP/1.1 connection.
//!
//! `wire::http3` parses and writes the streams' content, and `quic` transports it. As for HTTP/1 and HTTP/2, `exchange`
//! handles the requests.

mod body_frames;
mod downstream_stream;
mod request;
mod reset_counter;
pub mod serve;
mod unidirectional;
