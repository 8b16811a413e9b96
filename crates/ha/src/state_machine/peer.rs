//! What the heartbeat adds to VRRP. Without heartbeats VRRP works alone.
//!
//! - Standby, no advertisement: a peer that claims by heartbeat to be active stays active, however low its priority.
//!   The service network is split, and neither member can know whose clients reach which one.
//! - Standby, the active peer reports its resignation by heartbeat: as if it had advertised priority 0.
//! - Active, the peer claims to be active too although it knows our claim: the lower one resigns, as by VRRP.
//! - Active, the peer does the work better (it is able to, or it reaches more): we resign, and stand by until it is
//!   active.
//! - Active, the peer should be active and needs our vote: the lower one resigns.
//!
//! An order outranks all of this. The address owner never resigns because of reach.

use model::monotonic_time::MonotonicTime;

use super::{
    ActivationBlocker, MemberPrecedence, PeerView, TransitionReason, VrrpAction, VrrpState,
    VrrpStateMachine,
};
use crate::advert::{OWNER, RESIGNED};

impl VrrpStateMachine {
    /// The reason why the member does not become active after silence.
    pub fn activation_blocker(&self) -> Option<ActivationBlocker> {
        self.blocked_by
    }

    /// The member is active by order, which outranks reach.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Updates the view of the other member from its heartbeat.
    pub fn update_peer(&mut self, now: MonotonicTime, peer: PeerView, out: &mut Vec<VrrpAction>) {
        let before = std::mem::replace(&mut self.peer, peer);
        match self.state {
            VrrpState::Idle => {}
            VrrpState::Standby => self.apply_peer_change(now, before, out),
            VrrpState::Active => self.yield_to(now, out),
        }
    }

    fn apply_peer_change(
        &mut self,
        now: MonotonicTime,
        before: PeerView,
        out: &mut Vec<VrrpAction>,
    ) {
        let PeerView { alive, undecided: unsure, active, ahead, .. } = self.peer;
        let gone = before.active.filter(|_| active.is_none());
        if let Some(MemberPrecedence { source, .. }) = gone
            && alive
            && (self.blocked_by.is_some()
                || self.active_member.is_some_and(|heard| heard.source == source))
        {
            // The peer reported its resignation.
            self.resigning = true;
            self.active_member = None;
            let skew = self.settings.skew_time(self.priority(), self.active_interval);
            self.timer = self.timer.min(now + skew);
        }
        let heartbeats = self.blocked_by.is_some_and(|why| why != ActivationBlocker::NoQuorum);
        if heartbeats && active.is_none() && !ahead && !unsure {
            self.blocked_by = None;
            out.push(VrrpAction::ActivationBlocked(None));
            self.timer = if alive { self.timer } else { now };
        }
    }

    fn yield_to(&mut self, now: MonotonicTime, out: &mut Vec<VrrpAction>) {
        if self.settings.priority == OWNER {
            return;
        }
        let ours = self.precedence();
        match self.peer.active {
            Some(theirs) if self.peer.knows_conflict && theirs > ours => {
                self.active_member = Some(theirs);
                let why = TransitionReason::HigherPriority(theirs.source, theirs.priority);
                self.become_standby(now, why, out);
            }
            None if self.peer.wants_vote.is_some_and(|theirs| theirs > ours) => {
                self.yield_to_peer(now, out)
            }
            None if self.peer.ahead && !self.ordered => {
                self.counts.sent += 1;
                out.push(VrrpAction::Send(self.settings.advertisement(RESIGNED)));
                self.become_standby(now, TransitionReason::PeerAhead, out);
            }
            _ => {}
        }
    }

    /// Whether the heartbeat prevents a takeover, now that no advertisement of an active member arrives.
    pub(super) fn check_activation_blocker(
        &mut self,
        now: MonotonicTime,
        out: &mut Vec<VrrpAction>,
    ) -> bool {
        if self.ordered {
            return false;
        }
        let PeerView { undecided: unsure, active, ahead, .. } = self.peer;
        // The active member has a lower priority that is no longer tolerated: this is preemption, not silence.
        let preempts = self.lower_priority_since.is_some()
            && now.since(self.active_seen_at) < self.active_interval * 2
            && !ahead;
        if preempts {
            return false;
        }
        let why = match active {
            // The resignation may arrive before the peer's next heartbeat.
            Some(MemberPrecedence { priority, source }) if !self.resigning => {
                ActivationBlocker::PeerActive(source, priority)
            }
            _ if ahead => ActivationBlocker::PeerAhead,
            _ if unsure => {
                self.timer = now + self.settings.interval;
                return true;
            }
            _ => return false,
        };
        self.timer = now + self.settings.interval;
        if self.blocked_by.is_none() {
            self.counts.blocked_takeovers += 1;
        }
        if self.blocked_by != Some(why) {
            self.blocked_by = Some(why);
            out.push(VrrpAction::ActivationBlocked(Some(why)));
        }
        true
    }

    /// An advertisement arrived, so VRRP alone decides.
    pub(super) fn clear_activation_blocker(&mut self, out: &mut Vec<VrrpAction>) {
        if self.blocked_by.take().is_some() {
            out.push(VrrpAction::ActivationBlocked(None));
        }
    }
}

#[cfg(test)]
mod tests;
