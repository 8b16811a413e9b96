//! What this member sent, as far as later heartbeats of the peer refer to it.

use model::monotonic_time::MonotonicTime;

use crate::state_machine::VrrpState;

/// A round of heartbeats that this member sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentRound {
    pub number: u64,
    pub sent_at: MonotonicTime,
}

/// The state that this member reports for a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentGroupState {
    pub state: VrrpState,
    /// The number of the round that reported the state first.
    pub first_round: u64,
}
