//! HTTP/3 towards clients: connections of QUIC that carry requests, each in the form of a connection of HTTP/1.1.
//!
//! `wire::http3` reads and writes what goes over the streams, `quic` carries them. What becomes of a request is decided
//! by `exchange`, as for HTTP/1 and HTTP/2.

mod body_frames;
mod downstream_stream;
mod request;
pub mod serve;
mod unidirectional;
