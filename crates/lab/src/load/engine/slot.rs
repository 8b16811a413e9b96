//! What the engine keeps of each connection, and of the times at which something is due.
//!
//! It decides nothing.

use model::monotonic_time::MonotonicTime;

use crate::load::client::LoadClient;

/// A connection, and what is asked on it.
#[derive(Debug)]
pub struct ClientSlot {
    /// What is sent and read.
    pub client: LoadClient,
    pub phase: ConnectionPhase,
    /// The requests under way, by stream; one place without HTTP/2.
    pub pending: Vec<Option<PendingRequest>>,
    /// When establishing began, or since when the connection is there.
    pub phase_since: MonotonicTime,
    /// Whole answers that this connection gave.
    pub responses: u64,
    /// When bytes came last.
    pub last_received: MonotonicTime,
    /// The answer is whole and the server's end is waited for, until then.
    pub close_deadline: Option<MonotonicTime>,
    /// A slow reader waits for its clock.
    pub paused: bool,
    /// Counts connections, so that a wake-up for an earlier one is recognised.
    pub connection: u32,
}

/// A connection, and which of its streams.
pub type StreamSlot = (usize, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPhase {
    Closed,
    /// It is being established.
    Connecting,
    /// It can carry a request.
    Ready,
}

#[derive(Clone, Copy, Debug)]
pub struct PendingRequest {
    /// When it was meant to start; latency counts from here.
    pub intended: MonotonicTime,
    /// When it has failed.
    pub deadline: MonotonicTime,
    /// When it could be sent: it had a connection, which was established.
    pub ready: MonotonicTime,
    /// When its last byte was sent.
    pub sent_at: Option<MonotonicTime>,
    /// When the first byte of its answer came.
    pub first_byte: Option<MonotonicTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EngineTimer {
    pub due: MonotonicTime,
    pub slot: usize,
    pub stream: usize,
    /// Which of its connections it is for.
    pub connection: u32,
    pub action: TimerAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerAction {
    StartRequest,
    Read,
}

impl ClientSlot {
    /// Nothing is asked and nothing is open; `streams` requests at a time.
    pub fn new(client: LoadClient, streams: usize) -> ClientSlot {
        ClientSlot {
            client,
            phase: ConnectionPhase::Closed,
            pending: vec![None; streams],
            phase_since: MonotonicTime(0),
            responses: 0,
            last_received: MonotonicTime(0),
            close_deadline: None,
            paused: false,
            connection: 0,
        }
    }

    /// Whether a request is under way.
    pub fn has_request(&self) -> bool {
        self.pending.iter().any(Option::is_some)
    }
}
