//! HTTP/3 (RFC 9114) translated to HTTP/1.1: frames of streams, QPACK (RFC 9204) without a dynamic table, and heads
//! written as HTTP/1.1 text.
//!
//! A message that arrives in HTTP/3 is written as HTTP/1.1 and then parsed by [`crate::http1`], so that the same rules
//! apply to all versions. QUIC is not handled here, and no state outlives a stream.

mod control;
mod error;
mod frames;
mod qpack;
mod request;
mod response;
mod varint;

pub use crate::field_section::FieldSection;
pub use crate::http2::{WrittenHead, is_extended_connect, write_trailer_lines};
pub use control::{ControlStream, UniStream};
pub use error::{Http3Error, code};
pub use frames::{FrameEvent, FrameReader, FrameStep};
pub use qpack::decode;
pub use request::write_request;
pub use response::{control_stream_preface, data_header, goaway_frame, write_head, write_trailers};
