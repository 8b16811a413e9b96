//! What ends a body, and the result of a step that moves one.

use wire::http1::{ChunkedDecoder, Defect};

/// How a body ends.
pub enum BodyFraming {
    /// This many bytes are left.
    Length(u64),
    /// Chunks, until the decoder has seen the last.
    Chunked(Box<ChunkedDecoder>),
    UntilEnd,
    Done,
}

impl BodyFraming {
    /// Whether nothing more comes.
    pub fn is_done(&self) -> bool {
        matches!(self, BodyFraming::Done)
    }

    /// Bytes to read at a time, at most `room`: no more than the body has left.
    pub fn read_size(&self, room: usize) -> usize {
        match self {
            BodyFraming::Length(left) => usize::try_from(*left).unwrap_or(usize::MAX).min(room),
            _ => room,
        }
    }
}

/// The progress of a step.
#[derive(Debug)]
pub enum FlowStep {
    /// Everything has been given and nothing more comes.
    Finished,
    /// The sender has nothing now.
    AwaitSender,
    /// The receiver takes nothing now.
    AwaitReceiver,
    /// There is more to do: others first.
    Yield,
    /// The sender ended before the framing did.
    SenderTruncated,
    /// The sender's connection broke.
    SenderFailed,
    /// The receiver's connection broke.
    ReceiverFailed,
    /// What the sender sent breaks the framing.
    Malformed(Defect),
    /// Something of ours failed: nothing that was given is whole.
    Failed,
}
