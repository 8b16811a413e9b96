//! HTTP/3 (RFC 9114) in the form of HTTP/1.1: frames of streams, QPACK (RFC 9204) without a dynamic table, and heads
//! written as HTTP/1.1 text.
//!
//! Whatever came in HTTP/3 is written as HTTP/1.1 and then read by [`crate::http1`], so that all versions meet the same
//! rules. QUIC itself is not here, and no state is kept beyond one stream.

mod answer;
mod broken;
mod control;
mod frames;
mod qpack;
mod request;
mod varint;

pub use answer::{data_header, goaway, settings, write_head, write_trailers};
pub use broken::{Broken, code};
pub use control::{Control, Uni};
pub use frames::{Frames, Step};
pub use qpack::{Fields, decode};
pub use request::{Head, asks_for_tunnel, trailers, write_request};
