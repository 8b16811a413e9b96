//! What a peer can break, and the codes that tell it (RFC 9114 §8.1, RFC 9204 §6). It ends nothing.

pub mod code {
    /// H3_NO_ERROR (RFC 9114 §8.1).
    pub const NO_ERROR: u64 = 0x100;
    /// The peer broke a rule that no other code names.
    pub const GENERAL_PROTOCOL_ERROR: u64 = 0x101;
    pub const INTERNAL_ERROR: u64 = 0x102;
    /// A stream that the peer may not open.
    pub const STREAM_CREATION_ERROR: u64 = 0x103;
    /// A stream ended that the connection needs.
    pub const CLOSED_CRITICAL_STREAM: u64 = 0x104;
    /// A frame where it may not be.
    pub const FRAME_UNEXPECTED: u64 = 0x105;
    /// A frame that is not whole, or of another size than it must have.
    pub const FRAME_ERROR: u64 = 0x106;
    /// More than we take.
    pub const EXCESSIVE_LOAD: u64 = 0x107;
    /// A number that was used wrongly.
    pub const ID_ERROR: u64 = 0x108;
    /// Settings that may not be.
    pub const SETTINGS_ERROR: u64 = 0x109;
    /// The control stream did not begin with settings.
    pub const MISSING_SETTINGS: u64 = 0x10a;
    /// A request that was not looked at.
    pub const REQUEST_REJECTED: u64 = 0x10b;
    /// A request or its answer is not wanted any more.
    pub const REQUEST_CANCELLED: u64 = 0x10c;
    /// A request ended before it was whole.
    pub const REQUEST_INCOMPLETE: u64 = 0x10d;
    /// A message is malformed.
    pub const MESSAGE_ERROR: u64 = 0x10e;
    /// A head that cannot be decoded.
    pub const QPACK_DECOMPRESSION_FAILED: u64 = 0x200;
    /// An instruction for a table that there is not.
    pub const QPACK_ENCODER_STREAM_ERROR: u64 = 0x201;
    /// An instruction of a decoder is wrong, or acknowledges what was never sent.
    pub const QPACK_DECODER_STREAM_ERROR: u64 = 0x202;
}

/// How far an offence reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Http3Error {
    /// The connection cannot go on.
    #[error("the connection broke a rule of HTTP/3 (code {0:#x})")]
    Connection(u64),
    /// The head or the trailers of this stream are larger than what is taken.
    #[error("a head is larger than its limit")]
    TooLarge,
}
