//! Two of three: a group whose address must never be at two machines is active only while two of both members and a
//! third machine, the witness, agree. Pure.
//!
//! Each of the three gives its vote to one member at a time, for a time that it measures itself. The witness' vote is a
//! lease. A member's own vote is its own while it is active; one that stands by lends it to the other one by its beats,
//! and takes nothing over before that time is over, or the other one has said that it does not use it. So two that are
//! active at a time would have a vote that was given twice.
//!
//! ```text
//!   ours    a beat, number n ──▶ heard at h, answered: "for your beat n, for L"     theirs
//!   counts until sent(n) + L − margin      ≤      h + L: until then it takes nothing over
//! ```
//! What was sent before it was asked for is never counted longer than the giver keeps it, however late it comes; the
//! margin is for clocks that run differently fast. A process that begins has forgotten what it lent: it waits for as long
//! as that can last, or until the other one says, having heard this process, that it neither is nor wants to be active.

use std::net::IpAddr;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use crate::heartbeat::{HeartbeatId, Vote};
use crate::peer_link::PeerLink;

/// The part of a lease that is not used: clocks may differ by so much in speed.
const MARGIN: u32 = 16;
/// A lease is renewed after this part of it, and a question is answered within that or not at all.
const RENEW: u32 = 3;
/// Somebody who wants it asks again after this part.
const RETRY_DIVISOR: u32 = 8;
/// And not sooner than so.
const MIN_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// A question to the witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WitnessRequest {
    /// Its number, which the answer has too.
    pub number: u64,
    /// When this member began to want the lease; it only grows.
    pub ticket: u64,
    pub operation: WitnessOperation,
}

/// What is asked of the witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WitnessOperation {
    /// The lease. `holds`: it is this member's now.
    Acquire { is_holder: bool },
    /// The lease is given back.
    Release,
}

/// What the witness said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WitnessReply {
    /// The lease is ours for so long from when it was decided.
    Granted(Duration),
    /// It is somebody else's.
    Refused,
    /// It was given back.
    Released,
    /// Nothing that could be understood, in time.
    NoReply,
}

/// What the other member says of this group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerVote {
    /// Which beat it is: its process, and its number.
    pub beat: HeartbeatId,
    /// Which of ours it heard last when it said so, and when that one was sent.
    pub acknowledged: Option<(HeartbeatId, MonotonicTime)>,
    pub vote: Vote,
    /// Both want the address, and it comes first.
    pub first: bool,
}

/// The votes for one group, as one member knows them.
#[derive(Clone, Debug)]
pub struct QuorumVotes {
    lease: Duration,
    session: u64,
    /// What this member is.
    active: bool,
    wants_active: bool,
    /// Our vote is lent until then, for this beat of the other member.
    granted_until: MonotonicTime,
    granted_for: HeartbeatId,
    /// The other member's newest beat: when it came, and what it said.
    peer_vote: Option<(MonotonicTime, PeerVote)>,
    /// The number of our last beat that said we need no vote: what answers an earlier one does not count.
    floor: u64,
    /// Until when the other member's vote counts.
    peer_vote_until: MonotonicTime,
    /// Until when the witness' counts.
    lease_until: MonotonicTime,
    pending_request: Option<(WitnessRequest, MonotonicTime)>,
    next: MonotonicTime,
    number: u64,
    ticket: u64,
    /// Something may be there to give back.
    may_hold_lease: bool,
    /// Times that a lease was given.
    pub renewed: u64,
    /// Times that it was refused.
    pub refused: u64,
    /// Times that nothing came.
    pub unanswered: u64,
}

impl QuorumVotes {
    /// Of a process that begins, which beats know by `session`. `held`: the group is active, until then.
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

    /// Until when the witness' vote counts.
    pub fn lease_until(&self) -> MonotonicTime {
        self.lease_until
    }

    /// Until when the other member's vote counts.
    pub fn peer_vote_until(&self) -> MonotonicTime {
        self.peer_vote_until
    }

    /// Until when our vote is lent.
    pub fn granted_until(&self) -> MonotonicTime {
        self.granted_until
    }

    /// What the group is now.
    pub fn set_group_state(&mut self, now: MonotonicTime, active: bool, wants: bool) {
        let needs = active || wants;
        if needs && !(self.active || self.wants_active) {
            self.ticket = self.ticket.max(now.0) + 1;
            self.next = now;
        }
        if !needs || (self.active && !active) {
            // What counted counts no more: others are told so.
            self.peer_vote_until = MonotonicTime::default();
            self.lease_until = MonotonicTime::default();
        }
        if !needs && self.may_hold_lease {
            self.next = self.next.min(now);
        }
        self.active = active;
        self.wants_active = wants;
    }

    /// A beat was believed and is the newest: what it says of this group. `ours`: priority and address of this member.
    pub fn receive_heartbeat(
        &mut self,
        now: MonotonicTime,
        hearing: &PeerLink,
        group: (u8, bool),
        ours: (u8, IpAddr),
    ) {
        let claimed = hearing.peer_claim(group.0, group.1).map(|claimed| claimed.claim);
        let vote = claimed.and_then(|claim| Some((claim, claim.vote?)));
        let (Some(beat), Some((claim, vote))) = (hearing.newest_heartbeat(), vote) else {
            self.peer_vote = None;
            return;
        };
        let answered = hearing.peer().and_then(|beat| beat.last_received);
        let heard = answered.and_then(|ours| Some((ours, hearing.sent_at(ours.number)?)));
        let first = (claim.priority, claim.source) > ours;
        self.receive_vote(now, PeerVote { beat, acknowledged: heard, vote, first });
    }

    /// The other member's newest words.
    pub fn receive_vote(&mut self, now: MonotonicTime, other: PeerVote) {
        self.peer_vote = Some((now, other));
        let PeerVote { beat, acknowledged: heard, vote, .. } = other;
        // It had heard this process when it said that it needs no vote: none of ours for an earlier beat counts there.
        let forgotten = self.granted_for.session == 0;
        let later = (beat.session, beat.number)
            > (self.granted_for.session, self.granted_for.number)
            && beat.session == self.granted_for.session;
        let knows = heard.is_some_and(|(ours, _)| ours.session == self.session);
        if !vote.is_active && !vote.wants_vote && knows && (forgotten || later) {
            self.granted_until = MonotonicTime::default();
        }
        let (Some(length), Some((ours, sent))) = (vote.grants_for, heard) else { return };
        if ours.session == self.session
            && ours.number >= self.floor
            && (self.active || self.wants_active)
        {
            self.peer_vote_until = self.peer_vote_until.max(sent + usable_duration(length));
        }
    }

    /// What our next beat would say.
    pub fn next_vote(&self, now: MonotonicTime) -> Vote {
        let lends = self.current_grant(now).map(|_| self.lease);
        Vote { is_active: self.active, wants_vote: self.wants_active, grants_for: lends }
    }

    fn current_grant(&self, now: MonotonicTime) -> Option<(MonotonicTime, HeartbeatId)> {
        let (at, other) = self.peer_vote?;
        let worthy =
            other.vote.is_active || (other.vote.wants_vote && (!self.wants_active || other.first));
        let until = at + self.lease;
        (!self.active && worthy && now < until).then_some((until, other.beat))
    }

    /// What our beat of this number says. What it says is bound to: it must go out, or none with this number.
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

    /// When `ask` is to be called next.
    pub fn next_due(&self) -> MonotonicTime {
        let needs = self.active || self.wants_active || self.may_hold_lease;
        let free = self
            .pending_request
            .map_or(MonotonicTime::default(), |(_, at)| at + self.lease / RENEW);
        if needs { self.next.max(free) } else { MonotonicTime::NEVER }
    }

    /// A question for the witness, if one is due. Another one is not answered any more.
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
        self.pending_request = Some((ask, now));
        self.next = now + self.retry_interval();
        Some(ask)
    }

    /// What is given back at the end, whatever was asked meanwhile.
    pub fn release_lease(&mut self) -> Option<WitnessRequest> {
        let ask = WitnessRequest {
            number: self.number + 1,
            ticket: self.ticket,
            operation: WitnessOperation::Release,
        };
        self.may_hold_lease.then_some(ask)
    }

    /// The witness answered the question of this number.
    pub fn handle_reply(&mut self, now: MonotonicTime, number: u64, answer: WitnessReply) {
        let Some((ask, sent)) = self.pending_request.take_if(|(ask, _)| ask.number == number)
        else {
            return;
        };
        match answer {
            WitnessReply::Granted(length) => {
                self.renewed += 1;
                // Not of an earlier time: that ticket is given back, or was never used.
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

/// What of a time that somebody else measures may be used.
fn usable_duration(length: Duration) -> Duration {
    length - length / MARGIN
}

#[cfg(test)]
mod tests;
