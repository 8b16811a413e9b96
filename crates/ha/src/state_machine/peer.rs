//! What the heartbeat adds to VRRP. Where nothing is heard by it, everything is as without it.
//!
//! - Standing by, with no advertisement heard: whoever says by the heartbeat that it is active stays so, however low its
//!   priority. The service network is split, and nobody here can tell whose clients reach whom.
//! - Standing by, and the active one says by the heartbeat that it gave up: as if that had been advertised.
//! - Active, and the other one says that it is too, although it knows that we are: the lower gives up, as by VRRP.
//! - Active, and the other one does the work better (it can, it reaches more): we give up, and stand by until it is active.
//!
//! - Active, and the other one is to be, and needs our vote for it: the lower gives up.
//!
//! An order stands above all of this, and the owner of an address never gives it up for reach.

use model::monotonic_time::MonotonicTime;

use super::{
    ActivationBlocker, PeerView, TransitionReason, VrrpAction, VrrpState, VrrpStateMachine,
};
use crate::advert::{OWNER, RESIGNED};

impl VrrpStateMachine {
    /// What keeps it from becoming active by silence.
    pub fn activation_blocker(&self) -> Option<ActivationBlocker> {
        self.blocked_by
    }

    /// It is active by order, which stands above reach.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// What the heartbeat says of the other member now.
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
        if let Some((source, _)) = gone
            && alive
            && (self.blocked_by.is_some()
                || self.active_member.is_some_and(|(heard, _)| heard == source))
        {
            // It says that it gave up.
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
        let ours = (self.priority(), self.settings.source);
        match self.peer.active {
            Some((source, priority)) if self.peer.knows_conflict && (priority, source) > ours => {
                self.active_member = Some((source, priority));
                self.become_standby(now, TransitionReason::HigherPriority(source, priority), out);
            }
            None if self.peer.wants_vote.is_some_and(|theirs| {
                let (source, priority) = theirs;
                (priority, source) > ours
            }) =>
            {
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

    /// Nobody is heard to be active by VRRP any more: whether the heartbeat keeps from taking over.
    pub(super) fn check_activation_blocker(
        &mut self,
        now: MonotonicTime,
        out: &mut Vec<VrrpAction>,
    ) -> bool {
        if self.ordered {
            return false;
        }
        let PeerView { undecided: unsure, active, ahead, .. } = self.peer;
        // A lower priority is heard, and not borne any more: that is no silence.
        let preempts = self.lower_priority_since.is_some()
            && now.since(self.active_seen_at) < self.active_interval * 2
            && !ahead;
        if preempts {
            return false;
        }
        let why = match active {
            // Its resignation may have come before its next beat.
            Some((source, priority)) if !self.resigning => {
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

    /// Somebody is heard by VRRP: nothing else keeps from taking over.
    pub(super) fn clear_activation_blocker(&mut self, out: &mut Vec<VrrpAction>) {
        if self.blocked_by.take().is_some() {
            out.push(VrrpAction::ActivationBlocked(None));
        }
    }
}

#[cfg(test)]
mod tests;
