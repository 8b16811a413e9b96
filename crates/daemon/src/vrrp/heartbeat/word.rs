//! What the tasks of a heartbeat tell it. Each word carries the number of the heartbeat that began the task: what an
//! earlier one still says is not heard.

use ha::beat::PARTS;
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
