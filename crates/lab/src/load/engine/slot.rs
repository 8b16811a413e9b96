//! The engine's data about each connection and its timers.
//!
//! Plain data.

use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use crate::load::client::LoadClient;

/// A connection and its requests.
#[derive(Debug)]
pub struct ClientSlot {
    pub client: LoadClient,
    pub phase: ConnectionPhase,
    /// Requests in flight, by stream; a single entry without HTTP/2.
    pub pending: Vec<Option<PendingRequest>>,
    /// When the connection attempt started, or when the connection was established.
    pub phase_since: MonotonicTime,
    /// Complete responses on this connection.
    pub responses: u64,
    /// When the last bytes arrived.
    pub last_received: MonotonicTime,
    /// After a complete response: the deadline for the server to close.
    pub close_deadline: Option<MonotonicTime>,
    /// A slow reader waits for its timer.
    pub paused: bool,
    /// Number of the slot's connection, so that timers of an earlier one are recognised.
    pub connection: u32,
}

/// Indices of a connection and of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSlot {
    pub slot: usize,
    pub stream: usize,
}

/// A stream whose request was answered or failed.
#[derive(Clone, Copy, Debug)]
pub struct FreedStream {
    pub lane: StreamSlot,
    /// The pause before its next request.
    pub pause: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPhase {
    Closed,
    Connecting,
    /// The connection can carry a request.
    Ready,
}

#[derive(Clone, Copy, Debug)]
pub struct PendingRequest {
    /// Intended start; latency counts from here.
    pub intended: MonotonicTime,
    /// When the request has timed out.
    pub deadline: MonotonicTime,
    /// When the request could be sent, because it had an established connection.
    pub ready: MonotonicTime,
    /// When its last byte was sent.
    pub sent_at: Option<MonotonicTime>,
    /// When the first byte of its response arrived.
    pub first_byte: Option<MonotonicTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EngineTimer {
    pub due: MonotonicTime,
    pub slot: usize,
    pub stream: usize,
    /// The number of the connection that the timer belongs to.
    pub connection: u32,
    pub action: TimerAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerAction {
    StartRequest,
    Read,
}

impl ClientSlot {
    /// A closed connection without requests; `streams` is the number of concurrent requests.
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

    /// Whether a request is in flight.
    pub fn has_request(&self) -> bool {
        self.pending.iter().any(Option::is_some)
    }
}
