//! What ends a body, and how far a step with one came. It moves nothing.

use wire::http1::{Chunked, Defect};

/// What ends a body.
pub enum Framing {
    /// So many bytes to go.
    Length(u64),
    /// Chunks, until the decoder has seen the last.
    Chunked(Box<Chunked>),
    /// The sender's end.
    UntilEnd,
    /// Ended.
    Done,
}

impl Framing {
    /// Whether nothing more comes.
    pub fn done(&self) -> bool {
        matches!(self, Framing::Done)
    }

    /// Bytes to read at a time, at most `room`: no more than the body has left.
    pub fn wanted(&self, room: usize) -> usize {
        match self {
            Framing::Length(left) => usize::try_from(*left).unwrap_or(usize::MAX).min(room),
            _ => room,
        }
    }
}

/// How far a step came.
#[derive(Debug)]
pub enum Step {
    /// Everything has been given and nothing more comes.
    Finished,
    /// The sender has nothing now.
    Sender,
    /// The receiver takes nothing now.
    Receiver,
    /// There is more to do: others first.
    Again,
    /// The sender ended before the framing did.
    Cut,
    /// The sender's connection broke.
    SenderFailed,
    /// The receiver's connection broke.
    ReceiverFailed,
    /// What the sender sent breaks the framing.
    Malformed(Defect),
    /// Something of ours failed: nothing that was given is whole.
    Failed,
}
