//! How a body ends, and the result of a step that relays one.

use wire::http1::{ChunkedDecoder, Defect};

#[derive(Default)]
pub enum BodyFraming {
    /// This many bytes are left.
    Length(u64),
    /// Chunked coding, until the decoder has seen the last chunk.
    Chunked(Box<ChunkedDecoder>),
    UntilEnd,
    #[default]
    Done,
}

impl BodyFraming {
    /// Whether the body has ended.
    pub fn is_done(&self) -> bool {
        matches!(self, BodyFraming::Done)
    }

    /// Bytes to read at a time: at most `room`, and no more than the body has left.
    pub fn read_size(&self, room: usize) -> usize {
        match self {
            BodyFraming::Length(left) => usize::try_from(*left).unwrap_or(usize::MAX).min(room),
            _ => room,
        }
    }
}

/// The result of a step.
#[derive(Debug)]
pub enum FlowStep {
    /// The body was completely written.
    Finished,
    /// The sender has no bytes now.
    AwaitSender,
    /// The receiver accepts no bytes now.
    AwaitReceiver,
    /// There is more to do, after other tasks had a turn.
    Yield,
    /// The sender closed before the body was complete.
    SenderTruncated,
    /// The sender's connection broke.
    SenderFailed,
    /// The receiver's connection broke.
    ReceiverFailed,
    /// The body is longer than its limit.
    TooLong,
    /// The sender violated the framing.
    Malformed(Defect),
    /// An internal failure: the body is incomplete.
    Failed,
}
