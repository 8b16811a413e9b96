//! Header compression of HTTP/2 (RFC 7541): blocks to field sections and back. Fields are not interpreted, except that
//! the encoder keeps secrets out of its table.

mod decoder;
mod dynamic_table;
mod encoder;
mod hpack_error;
mod integer;
mod static_table;

pub use decoder::{DecodedSize, HpackDecoder};
pub use encoder::HpackEncoder;
pub use hpack_error::HpackError;
