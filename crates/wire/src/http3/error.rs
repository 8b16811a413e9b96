//! The violations of a peer, and their error codes (RFC 9114 §8.1, RFC 9204 §6).

pub mod code {
    /// H3_NO_ERROR (RFC 9114 §8.1).
    pub const NO_ERROR: u64 = 0x100;
    /// The peer violated a rule that no other code covers.
    pub const GENERAL_PROTOCOL_ERROR: u64 = 0x101;
    pub const INTERNAL_ERROR: u64 = 0x102;
    /// The peer may not open a stream of this type.
    pub const STREAM_CREATION_ERROR: u64 = 0x103;
    /// A stream that the connection needs was closed.
    pub const CLOSED_CRITICAL_STREAM: u64 = 0x104;
    /// A frame at a place where it is not allowed.
    pub const FRAME_UNEXPECTED: u64 = 0x105;
    /// A frame that is truncated or has a wrong size.
    pub const FRAME_ERROR: u64 = 0x106;
    /// A limit was exceeded.
    pub const EXCESSIVE_LOAD: u64 = 0x107;
    /// A stream id or push id was used incorrectly.
    pub const ID_ERROR: u64 = 0x108;
    /// Invalid settings.
    pub const SETTINGS_ERROR: u64 = 0x109;
    /// The control stream did not start with SETTINGS.
    pub const MISSING_SETTINGS: u64 = 0x10a;
    /// A request that was not processed.
    pub const REQUEST_REJECTED: u64 = 0x10b;
    /// The request or its response is no longer needed.
    pub const REQUEST_CANCELLED: u64 = 0x10c;
    /// The request ended before it was complete.
    pub const REQUEST_INCOMPLETE: u64 = 0x10d;
    /// A message is malformed.
    pub const MESSAGE_ERROR: u64 = 0x10e;
    /// A head that cannot be decoded.
    pub const QPACK_DECOMPRESSION_FAILED: u64 = 0x200;
    /// An encoder instruction for a dynamic table, which is not supported.
    pub const QPACK_ENCODER_STREAM_ERROR: u64 = 0x201;
    /// A decoder instruction that is invalid, or that acknowledges a head that was never sent.
    pub const QPACK_DECODER_STREAM_ERROR: u64 = 0x202;
}

/// The scope of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Http3Error {
    /// Closes the connection, with this error code.
    #[error("the connection broke a rule of HTTP/3 (code {0:#x})")]
    Connection(u64),
    /// The head or the trailers of this stream exceed the size limit.
    #[error("a head is larger than its limit")]
    TooLarge,
}
