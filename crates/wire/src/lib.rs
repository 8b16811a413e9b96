//! Bytes to headers and back: the HTTP/1.0 and 1.1 codec, heads of HTTP/2 and HTTP/3 in its form, the PROXY protocol,
//! and what a TLS connection begins with.
//!
//! Everything here is a function of bytes: no socket, no clock, no thread, no unsafe code. No function panics on any
//! input; hostile input is a named [`http1::Defect`]. It does not decide what to do with a message: `l7` does.

pub mod client_hello;
pub mod http1;
pub mod http2;
pub mod http3;
pub mod proxy_protocol;
