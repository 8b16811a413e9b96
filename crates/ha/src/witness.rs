//! Quorum of two of three: a group whose address must never be at two machines is active only while two of three agree.
//! The three are both members and a third machine, the witness. Pure.
//!
//! Each of the three gives its vote to one member at a time, for a time that it measures itself. The witness gives its
//! vote as a lease. An active member has its own vote. A standby member lends its vote to the peer by its heartbeats.
//! It takes nothing over before that loan expires, or before the peer reports that it does not use it. So two active
//! members at a time would need one vote given twice.
//!
//! ```text
//!   ours    a beat, number n ──▶ heard at h, answered: "for your beat n, for L"     theirs
//!   counts until sent(n) + L − margin      ≤      h + L: until then it takes nothing over
//! ```
//! A vote sent before its request is never counted longer than the giver keeps it, however late it arrives. The margin
//! covers clocks that run at different speeds. A process that starts has forgotten what it lent. It waits for the
//! longest possible loan, or until a peer that has received its heartbeats reports that it neither is nor wants to be
//! active.

use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use crate::heartbeat::{HeartbeatId, Vote, VrrpGroupKey};
use crate::peer_link::PeerLink;
use crate::state_machine::MemberPrecedence;

/// One sixteenth of a lease is not used: clocks may differ by this much in speed.
const MARGIN: u32 = 16;
/// A lease is renewed after a third of it, so a failed renewal leaves time for another. A reply must arrive within the
/// same time.
const RENEW: u32 = 3;
/// A member that waits for the lease retries after an eighth of it. A released lease is therefore acquired within an
/// eighth of its length.
const RETRY_DIVISOR: u32 = 8;
/// The least time between two requests, which bounds the load on the witness with short leases.
const MIN_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// A request to the witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WitnessRequest {
    /// The number of the request, which the reply repeats.
    pub number: u64,
    /// When this member first requested the lease. The value never decreases.
    pub ticket: u64,
    pub operation: WitnessOperation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WitnessOperation {
    /// Acquire the lease. `is_holder`: this member holds it now.
    Acquire {
        is_holder: bool,
    },
    Release,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WitnessReply {
    /// The lease belongs to this member for this long, counted from the decision.
    Granted(Duration),
    /// The lease belongs to another member.
    Refused,
    /// The lease was released.
    Released,
    /// No valid reply arrived in time.
    NoReply,
}

/// A heartbeat of this member that the peer has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcknowledgedHeartbeat {
    pub beat: HeartbeatId,
    /// When this member sent it.
    pub sent_at: MonotonicTime,
}

/// The peer's report about this group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerVote {
    /// The heartbeat that carried the vote.
    pub beat: HeartbeatId,
    /// The newest of our heartbeats that the peer had received.
    pub acknowledged: Option<AcknowledgedHeartbeat>,
    pub vote: Vote,
    /// Both members request the address, and the peer has precedence.
    pub first: bool,
}

/// The peer's newest vote, with its arrival.
#[derive(Clone, Copy, Debug)]
struct ReceivedVote {
    received_at: MonotonicTime,
    vote: PeerVote,
}

/// A request to the witness that awaits its reply.
#[derive(Clone, Copy, Debug)]
struct PendingWitnessRequest {
    request: WitnessRequest,
    sent_at: MonotonicTime,
}

/// The votes for one group, as one member has received them.
#[derive(Clone, Debug)]
pub struct QuorumVotes {
    lease: Duration,
    session: u64,
    active: bool,
    wants_active: bool,
    /// Until when our vote is lent, for this heartbeat of the peer.
    granted_until: MonotonicTime,
    granted_for: HeartbeatId,
    peer_vote: Option<ReceivedVote>,
    /// The number of our last heartbeat without a need for votes: replies to earlier ones do not count.
    floor: u64,
    /// Until when the peer's vote counts.
    peer_vote_until: MonotonicTime,
    /// Until when the witness' lease counts.
    lease_until: MonotonicTime,
    pending_request: Option<PendingWitnessRequest>,
    next: MonotonicTime,
    number: u64,
    ticket: u64,
    /// A lease may exist that must be released.
    may_hold_lease: bool,
    /// Leases granted or renewed.
    pub renewed: u64,
    /// Requests refused by the witness.
    pub refused: u64,
    /// Requests without a reply.
    pub unanswered: u64,
}

impl QuorumVotes {
    /// Starts with the session of this process. `held`: the group is active until then.
    pub fn new(
        now: MonotonicTime,
        lease: Duration,
        session: u64,
        held: Option<MonotonicTime>,
    ) -> QuorumVotes {
        QuorumVotes {
            lease,
            session,
            active: held.is_some(),
            wants_active: false,
            granted_until: if held.is_some() { MonotonicTime::default() } else { now + lease },
            granted_for: HeartbeatId::default(),
            peer_vote: None,
            floor: 0,
            peer_vote_until: MonotonicTime::default(),
            lease_until: held.unwrap_or_default(),
            pending_request: None,
            next: MonotonicTime::default(),
            number: 0,
            ticket: now.0,
            may_hold_lease: held.is_some(),
            renewed: 0,
            refused: 0,
            unanswered: 0,
        }
    }

    /// Until when this member may be active.
    pub fn permitted_until(&self, now: MonotonicTime) -> MonotonicTime {
        if now < self.granted_until {
            MonotonicTime::default()
        } else {
            self.peer_vote_until.max(self.lease_until)
        }
    }

    /// Until when the witness' lease counts.
    pub fn lease_until(&self) -> MonotonicTime {
        self.lease_until
    }

    pub fn peer_vote_until(&self) -> MonotonicTime {
        self.peer_vote_until
    }

    pub fn granted_until(&self) -> MonotonicTime {
        self.granted_until
    }

    /// Sets the group's state.
    pub fn set_group_state(&mut self, now: MonotonicTime, active: bool, wants: bool) {
        let needs = active || wants;
        if needs && !(self.active || self.wants_active) {
            self.ticket = self.ticket.max(now.0) + 1;
            self.next = now;
        }
        if !needs || (self.active && !active) {
            // Votes received so far no longer count; the next heartbeat reports that.
            self.peer_vote_until = MonotonicTime::default();
            self.lease_until = MonotonicTime::default();
        }
        if !needs && self.may_hold_lease {
            self.next = self.next.min(now);
        }
        self.active = active;
        self.wants_active = wants;
    }

    /// Reads the vote for this group from the newest heartbeat. `ours`: the precedence of this member.
    pub fn receive_heartbeat(
        &mut self,
        now: MonotonicTime,
        hearing: &PeerLink,
        group: VrrpGroupKey,
        ours: MemberPrecedence,
    ) {
        let claimed = hearing.peer_claim(group.id, group.v6).map(|claimed| claimed.claim);
        let vote = claimed.and_then(|claim| Some((claim, claim.vote?)));
        let (Some(beat), Some((claim, vote))) = (hearing.newest_heartbeat(), vote) else {
            self.peer_vote = None;
            return;
        };
        let answered = hearing.peer().and_then(|beat| beat.last_received);
        let acknowledged = answered.and_then(|beat| {
            Some(AcknowledgedHeartbeat { beat, sent_at: hearing.sent_at(beat.number)? })
        });
        let first = claim.precedence() > ours;
        self.receive_vote(now, PeerVote { beat, acknowledged, vote, first });
    }

    /// Handles the peer's newest vote.
    pub fn receive_vote(&mut self, now: MonotonicTime, other: PeerVote) {
        self.peer_vote = Some(ReceivedVote { received_at: now, vote: other });
        let PeerVote { beat, acknowledged: heard, vote, .. } = other;
        // The peer had received a heartbeat of this process when it reported that it needs no vote: no earlier loan
        // counts there.
        let forgotten = self.granted_for.session == 0;
        let later = (beat.session, beat.number)
            > (self.granted_for.session, self.granted_for.number)
            && beat.session == self.granted_for.session;
        let knows = heard.is_some_and(|ours| ours.beat.session == self.session);
        if !vote.is_active && !vote.wants_vote && knows && (forgotten || later) {
            self.granted_until = MonotonicTime::default();
        }
        let (Some(length), Some(ours)) = (vote.grants_for, heard) else { return };
        if ours.beat.session == self.session
            && ours.beat.number >= self.floor
            && (self.active || self.wants_active)
        {
            self.peer_vote_until = self.peer_vote_until.max(ours.sent_at + usable_duration(length));
        }
    }

    /// The vote that our next heartbeat would carry.
    pub fn next_vote(&self, now: MonotonicTime) -> Vote {
        let lends = self.current_grant(now).map(|_| self.lease);
        Vote { is_active: self.active, wants_vote: self.wants_active, grants_for: lends }
    }

    fn current_grant(&self, now: MonotonicTime) -> Option<(MonotonicTime, HeartbeatId)> {
        let ReceivedVote { received_at, vote: other } = self.peer_vote?;
        let worthy =
            other.vote.is_active || (other.vote.wants_vote && (!self.wants_active || other.first));
        let until = received_at + self.lease;
        (!self.active && worthy && now < until).then_some((until, other.beat))
    }

    /// The vote that our heartbeat of this number carries. It is binding: that heartbeat must be sent, or no other with
    /// this number.
    pub fn take_vote(&mut self, now: MonotonicTime, number: u64) -> Vote {
        if !self.active && !self.wants_active {
            self.floor = number;
        }
        let lending = self.current_grant(now);
        if let Some((until, beat)) = lending {
            self.granted_until = self.granted_until.max(until);
            self.granted_for = beat;
        }
        self.next_vote(now)
    }

    /// When `take_request` is to be called next.
    pub fn next_due(&self) -> MonotonicTime {
        let needs = self.active || self.wants_active || self.may_hold_lease;
        let free = self
            .pending_request
            .map_or(MonotonicTime::default(), |pending| pending.sent_at + self.lease / RENEW);
        if needs { self.next.max(free) } else { MonotonicTime::NEVER }
    }

    /// Returns a request for the witness if one is due. Replies to earlier requests are then ignored.
    pub fn take_request(&mut self, now: MonotonicTime) -> Option<WitnessRequest> {
        if now < self.next_due() {
            return None;
        }
        if self.pending_request.take().is_some() {
            self.unanswered += 1;
        }
        let takes = self.active || self.wants_active;
        let what = if takes {
            WitnessOperation::Acquire { is_holder: now < self.lease_until }
        } else {
            WitnessOperation::Release
        };
        self.may_hold_lease = true;
        self.number += 1;
        let ask = WitnessRequest { number: self.number, ticket: self.ticket, operation: what };
        self.pending_request = Some(PendingWitnessRequest { request: ask, sent_at: now });
        self.next = now + self.retry_interval();
        Some(ask)
    }

    /// Releases the lease at the end, regardless of earlier requests.
    pub fn release_lease(&mut self) -> Option<WitnessRequest> {
        let ask = WitnessRequest {
            number: self.number + 1,
            ticket: self.ticket,
            operation: WitnessOperation::Release,
        };
        self.may_hold_lease.then_some(ask)
    }

    /// Handles the witness' reply to the request of this number.
    pub fn handle_reply(&mut self, now: MonotonicTime, number: u64, answer: WitnessReply) {
        let pending = self.pending_request.take_if(|pending| pending.request.number == number);
        let Some(PendingWitnessRequest { request: ask, sent_at: sent }) = pending else { return };
        match answer {
            WitnessReply::Granted(length) => {
                self.renewed += 1;
                // Not for an earlier ticket: that one is released, or was never used.
                if ask.ticket == self.ticket && (self.active || self.wants_active) {
                    self.lease_until = self.lease_until.max(sent + usable_duration(length));
                    self.next = sent + length / RENEW;
                }
            }
            WitnessReply::Refused => {
                self.refused += 1;
                self.lease_until = MonotonicTime::default();
                self.next = now + self.retry_interval();
            }
            WitnessReply::Released => {
                if ask.ticket == self.ticket && !(self.active || self.wants_active) {
                    self.may_hold_lease = false;
                }
            }
            WitnessReply::NoReply => {
                self.unanswered += 1;
                self.next = now + self.retry_interval();
            }
        }
    }

    fn retry_interval(&self) -> Duration {
        (self.lease / RETRY_DIVISOR).max(MIN_RETRY_INTERVAL)
    }
}

/// The part of a lease that may be used, measured by another machine's clock.
fn usable_duration(length: Duration) -> Duration {
    length - length / MARGIN
}

#[cfg(test)]
mod tests;
