//! A member whose address must never be at two machines: it is active only while the quorum agrees. `witness` knows the
//! votes and how long they last.

use model::monotonic_time::MonotonicTime;

use super::{
    ActivationBlocker, MemberPrecedence, TransitionReason, VrrpAction, VrrpState, VrrpStateMachine,
};
use crate::advert::RESIGNED;

impl VrrpStateMachine {
    /// Sets until when the member may be active; `None`: no quorum is needed.
    pub fn set_permission(
        &mut self,
        now: MonotonicTime,
        leave: Option<MonotonicTime>,
        out: &mut Vec<VrrpAction>,
    ) {
        self.permitted_until = leave;
        if self.blocked_by == Some(ActivationBlocker::NoQuorum) && self.is_permitted(now) {
            self.blocked_by = None;
            out.push(VrrpAction::ActivationBlocked(None));
            self.timer = now;
        }
    }

    pub fn permitted_until(&self) -> Option<MonotonicTime> {
        self.permitted_until
    }

    /// The member should be active and waits for the quorum.
    pub fn wants_permission(&self) -> bool {
        self.state == VrrpState::Standby
            && (self.blocked_by == Some(ActivationBlocker::NoQuorum) || self.ordered)
    }

    pub(super) fn is_permitted(&self, now: MonotonicTime) -> bool {
        self.permitted_until.is_none_or(|leave| now < leave)
    }

    /// Only the quorum can still prevent activation: checks it.
    pub(super) fn block_without_permission(
        &mut self,
        now: MonotonicTime,
        out: &mut Vec<VrrpAction>,
    ) -> bool {
        if self.is_permitted(now) {
            return false;
        }
        self.timer = now + self.settings.interval;
        if self.blocked_by != Some(ActivationBlocker::NoQuorum) {
            self.counts.blocked_takeovers += u64::from(self.blocked_by.is_none());
            self.blocked_by = Some(ActivationBlocker::NoQuorum);
            out.push(VrrpAction::ActivationBlocked(self.blocked_by));
        }
        true
    }

    /// Active, and the quorum is lost.
    pub(super) fn lose_permission(&mut self, now: MonotonicTime, out: &mut Vec<VrrpAction>) {
        self.counts.lost_quorum += 1;
        self.step_down(now, TransitionReason::NoQuorum, out);
    }

    /// Active, and the peer should be active.
    pub(super) fn yield_to_peer(&mut self, now: MonotonicTime, out: &mut Vec<VrrpAction>) {
        let Some(theirs) = self.peer.wants_vote else { return };
        let MemberPrecedence { priority, source } = theirs;
        self.step_down(now, TransitionReason::HigherPriority(source, priority), out);
        self.active_member = Some(theirs);
        self.active_seen_at = now;
    }

    fn step_down(&mut self, now: MonotonicTime, why: TransitionReason, out: &mut Vec<VrrpAction>) {
        self.counts.sent += 1;
        out.push(VrrpAction::Send(self.settings.advertisement(RESIGNED)));
        self.become_standby(now, why, out);
    }
}

#[cfg(test)]
mod tests;
