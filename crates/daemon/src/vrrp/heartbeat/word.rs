//! What the tasks of a heartbeat tell it. Each word carries the number of the heartbeat that began the task: what an
//! earlier one still says is not heard.

use ha::beat::PARTS;
use ha::witness;
use model::moment::Moment;

/// Words that may wait; packets beyond stay in the sockets, and are lost there.
pub const WAITING: usize = 256;

/// One of them.
#[derive(Debug)]
pub enum Word {
    /// A packet came by a path.
    Packet(u64, Packet),
    /// A target answered in time, or did not.
    Answer(u64, usize, bool),
    /// The configuration in short.
    Digest(u64, Digested),
    /// The witness answered, or did not.
    Witness(u64, Answered),
}

/// What came of a question to the witness.
#[derive(Debug)]
pub struct Answered {
    /// For which group: its number, and whether it is of IPv6.
    pub group: (u8, bool),
    /// The question's number.
    pub number: u64,
    /// What it said.
    pub answer: witness::Answer,
    /// In words.
    pub said: String,
}

/// A packet.
#[derive(Debug)]
pub struct Packet {
    /// Which path.
    pub path: usize,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// When it came.
    pub at: Moment,
}

/// A configuration in short, part by part.
pub type Digested = [u64; PARTS.len()];
