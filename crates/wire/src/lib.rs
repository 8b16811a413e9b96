//! Codecs: HTTP/1.0 and 1.1, connections of HTTP/2, heads of HTTP/2 and HTTP/3 translated to HTTP/1.1, the PROXY
//! protocol, and the TLS ClientHello.
//!
//! Everything here is a function of bytes: no socket, no clock, no thread, no unsafe code. No function panics on any
//! input; malformed HTTP input results in a named [`http1::Defect`]. The crate `l7` decides how to handle a message.

pub mod client_hello;
pub mod field_section;
pub mod http1;
pub mod http2;
pub mod http3;
mod huffman;
mod prefix_integer;
pub mod proxy_protocol;
