//! Messages from the tasks of a heartbeat to its session. Each carries the epoch of the session that started the task:
//! late messages of an earlier one are ignored.

use ha::heartbeat::{PARTS, VrrpGroupKey};
use ha::witness;
use model::monotonic_time::MonotonicTime;

/// Bounds waiting messages; further packets stay in the sockets' buffers, and are lost there.
pub const QUEUE_CAPACITY: usize = 256;

#[derive(Debug)]
pub enum HeartbeatMessage {
    /// A packet arrived by a path.
    Packet(u64, PathPacket),
    /// A target answered in time, or did not.
    TargetAnswer(u64, usize, bool),
    /// The configuration in short.
    Digest(u64, ConfigDigests),
    /// The witness answered, or did not.
    Witness(u64, WitnessAnswer),
}

/// The result of a request to the witness.
#[derive(Debug)]
pub struct WitnessAnswer {
    pub group: VrrpGroupKey,
    pub number: u64,
    pub answer: witness::WitnessReply,
    pub text: String,
}

#[derive(Debug)]
pub struct PathPacket {
    pub path: usize,
    pub bytes: Vec<u8>,
    pub at: MonotonicTime,
}

/// A configuration in short, part by part.
pub type ConfigDigests = [u64; PARTS.len()];
