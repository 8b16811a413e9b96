//! What a machine reports, and the results of its calls.

use bytes::Bytes;

use super::abuse::AbuseKind;
use super::error_code::ErrorCode;
use crate::field_section::FieldSection;
use crate::http1::Defect;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Http2Event {
    /// A client's request, whose pseudo-header fields come first.
    Request { stream: u32, fields: FieldSection, end_stream: bool },
    /// A client's head exceeds the limit: the stream waits for a response such as 431.
    HeadTooLarge { stream: u32, end_stream: bool },
    /// A malformed request, whose stream was reset. There is no stream to be closed.
    Malformed { stream: u32, fields: FieldSection, defect: Defect },
    /// A server's final response.
    Response { stream: u32, fields: FieldSection, end_stream: bool },
    /// A server's response with a status below 200.
    Informational { stream: u32, fields: FieldSection },
    /// Data, the end of the body or trailers have arrived.
    Readable { stream: u32 },
    /// Data is accepted again after it was not.
    Writable { stream: u32 },
    /// The peer wants no more of the body. All that it sent has arrived and can be read.
    Stopped { stream: u32, code: ErrorCode },
    /// The stream is broken: nothing can be read or sent any more.
    Ended { stream: u32, reset: StreamReset },
    /// The peer's settings were applied.
    PeerSettings,
    /// A PING was acknowledged.
    Pong { payload: [u8; 8] },
    /// The peer accepts no streams above this one. Those that it does not process have ended before.
    GoAway { last_stream: u32, code: ErrorCode },
    /// The connection has failed, and the output ends with a GOAWAY. All streams have ended before.
    Failed { code: ErrorCode, abuse: Option<AbuseKind> },
}

/// Why a stream broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamReset {
    pub code: ErrorCode,
    pub origin: ResetOrigin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetOrigin {
    /// The peer reset the stream.
    Peer,
    /// The peer's GOAWAY excludes the stream.
    Unprocessed,
    /// The peer broke a rule, and this side reset the stream.
    Local(Defect),
    /// The connection failed or ended.
    Connection,
}

impl StreamReset {
    /// Whether the peer has surely not processed the request (RFC 9113 §8.7).
    pub fn is_unprocessed(self) -> bool {
        match self.origin {
            ResetOrigin::Unprocessed => true,
            ResetOrigin::Peer => self.code == ErrorCode::REFUSED_STREAM,
            ResetOrigin::Local(_) | ResetOrigin::Connection => false,
        }
    }
}

/// The next part of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyPart {
    Data(Bytes),
    /// Nothing has arrived; `Readable` follows.
    Pending,
    /// The body is complete.
    End,
    /// There is no such stream, or it is broken.
    Gone,
}

/// A stream that takes nothing any more: unknown, broken, or already ended by this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream takes nothing any more")]
pub struct ClosedStream;

/// Why no stream can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenRefusal {
    #[error("the connection is closing")]
    Closing,
    #[error("the peer allows no more streams at a time")]
    Limit,
    #[error("all stream ids are used")]
    IdsUsed,
}

/// What a machine did because of its peer, since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineCounters {
    /// Streams reset because their message was malformed.
    pub malformed: u64,
    /// Streams or the connection ended because of another violation.
    pub protocol: u64,
    /// Streams refused above the limit.
    pub refused: u64,
    /// Heads above the limit.
    pub heads: u64,
}
