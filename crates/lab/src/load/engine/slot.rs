//! What the engine keeps of each connection, and of the times at which something is due.
//!
//! It decides nothing.

use model::moment::Moment;

use crate::load::client::Client;

/// A connection, and what is asked on it.
#[derive(Debug)]
pub struct Slot {
    /// What is sent and read.
    pub client: Client,
    /// Where it stands.
    pub phase: Phase,
    /// The requests under way, by stream; one place without HTTP/2.
    pub asked: Vec<Option<Asked>>,
    /// When establishing began, or since when the connection is there.
    pub since: Moment,
    /// Whole answers that this connection gave.
    pub answers: u64,
    /// When bytes came last.
    pub heard: Moment,
    /// The answer is whole and the server's end is waited for, until then.
    pub parting: Option<Moment>,
    /// A slow reader waits for its clock.
    pub paused: bool,
    /// Counts connections, so that a wake-up for an earlier one is recognised.
    pub connection: u32,
}

/// A connection, and which of its streams.
pub type Lane = (usize, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No connection.
    Down,
    /// It is being established.
    Connecting,
    /// It can carry a request.
    Ready,
}

#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// When it was meant to start; latency counts from here.
    pub intended: Moment,
    /// When it has failed.
    pub deadline: Moment,
    /// When it could be sent: it had a connection, which was established.
    pub ready: Moment,
    /// When its last byte was sent.
    pub sent: Option<Moment>,
    /// When the first byte of its answer came.
    pub first: Option<Moment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wake {
    /// When.
    pub at: Moment,
    /// Which connection's.
    pub slot: usize,
    /// Which stream's.
    pub stream: usize,
    /// Which of its connections it is for.
    pub connection: u32,
    /// What is due.
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The next request.
    Ask,
    /// The next read.
    Read,
}

impl Slot {
    /// Nothing is asked and nothing is open; `streams` requests at a time.
    pub fn new(client: Client, streams: usize) -> Slot {
        Slot {
            client,
            phase: Phase::Down,
            asked: vec![None; streams],
            since: Moment(0),
            answers: 0,
            heard: Moment(0),
            parting: None,
            paused: false,
            connection: 0,
        }
    }

    /// Whether a request is under way.
    pub fn is_asked(&self) -> bool {
        self.asked.iter().any(Option::is_some)
    }
}
