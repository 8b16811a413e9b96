//! One member of one group: VRRP's state machine (RFC 9568 §6.4), with a dead-man timer on the address.
//!
//! ```text
//!            begin                     silence of the active one, or an order
//!   Idle ───────────▶ Standby ─────────────────────────────────────────────▶ Active
//!    ▲                 │   ▲                                                  │  │
//!    └─────────────────┘   └── a better advertisement, or we said nothing ────┘  │
//!    └──────────────────────────── fault or end: priority 0 is sent ─────────────┘
//! ```
//!
//! Beyond the RFC:
//! - An active member that could not send for the dead-man time stands by, because the others assume that it is down.
//! - A lower priority is tolerated for a set time.
//! - An operator's order (`operator_order`) activates a member or makes it stand by.
//! - The heartbeat (`peer`) can prevent a takeover or demand a resignation.
//! - A member that resigned to a rival notifies the active member (`active_conflict`).
//! - Another group with the same number is ignored.

mod active_conflict;
mod conflict;
mod operator_order;
mod peer;
mod permission;
mod transition;

use std::net::IpAddr;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use crate::advert::{OWNER, RESIGNED, VrrpAdvertisement, VrrpVersion};
use crate::announcement::AnnouncementSchedule;
use crate::counts::VrrpCounters;
use crate::settings::VrrpSettings;
use conflict::AddressConflict;
pub use transition::{
    ActivationBlocker, MemberPrecedence, OrderRejection, PeerView, TransitionReason, VrrpAction,
    VrrpState,
};

#[derive(Clone, Debug)]
pub struct VrrpStateMachine {
    settings: VrrpSettings,
    state: VrrpState,
    /// When the active member counts as down, or the next advertisement is due.
    timer: MonotonicTime,
    /// The active member has announced its resignation.
    resigning: bool,
    /// The active member's interval (RFC 9568 §6.1, `Active_Adver_Interval`).
    active_interval: Duration,
    /// The active member, with its last priority.
    active_member: Option<MemberPrecedence>,
    /// Since when a lower priority is tolerated.
    lower_priority_since: Option<MonotonicTime>,
    /// When the last advertisement of an active member arrived.
    active_seen_at: MonotonicTime,
    /// An operator's priority, valid until this member is no longer active.
    ordered_priority: Option<u8>,
    /// Active by order, which outranks reach.
    ordered: bool,
    /// On standby by an operator's order: this member does not preempt a lower priority until it has been active once
    /// more.
    handed_over: bool,
    /// This member has been active since it last received an active member's advertisement. That member and some
    /// neighbours may not know it.
    notice_due: bool,
    conflict: AddressConflict,
    peer: PeerView,
    blocked_by: Option<ActivationBlocker>,
    /// Until when this member may be active; `None`: no quorum is needed.
    permitted_until: Option<MonotonicTime>,
    last_sent: MonotonicTime,
    last_reannounced: MonotonicTime,
    announcements: AnnouncementSchedule,
    counts: VrrpCounters,
}

impl VrrpStateMachine {
    /// A member that has not started.
    pub fn new(settings: VrrpSettings) -> VrrpStateMachine {
        VrrpStateMachine {
            active_interval: settings.interval,
            settings,
            state: VrrpState::Idle,
            timer: MonotonicTime::NEVER,
            resigning: false,
            active_member: None,
            lower_priority_since: None,
            active_seen_at: MonotonicTime::default(),
            ordered_priority: None,
            ordered: false,
            handed_over: false,
            notice_due: false,
            conflict: AddressConflict::default(),
            peer: PeerView::default(),
            blocked_by: None,
            permitted_until: None,
            last_sent: MonotonicTime::default(),
            last_reannounced: MonotonicTime::default(),
            announcements: AnnouncementSchedule::default(),
            counts: VrrpCounters::default(),
        }
    }

    pub fn state(&self) -> VrrpState {
        self.state
    }

    pub fn counts(&self) -> &VrrpCounters {
        &self.counts
    }

    pub fn settings(&self) -> &VrrpSettings {
        &self.settings
    }

    pub fn priority(&self) -> u8 {
        self.ordered_priority.unwrap_or(self.settings.priority)
    }

    fn precedence(&self) -> MemberPrecedence {
        MemberPrecedence { priority: self.priority(), source: self.settings.source }
    }

    /// The last known active member and its priority.
    pub fn active_member(&self) -> Option<MemberPrecedence> {
        self.active_member
    }

    /// When `tick` is to be called next; never for an idle member.
    pub fn next_due(&self) -> MonotonicTime {
        let over = match self.state {
            VrrpState::Active => self.permitted_until.unwrap_or(MonotonicTime::NEVER),
            _ => MonotonicTime::NEVER,
        };
        let announcement = match self.state {
            VrrpState::Active => self.announcements.next_due(self.settings.refresh),
            _ => MonotonicTime::NEVER,
        };
        self.timer.min(announcement).min(over)
    }

    /// Until when the member may answer for the addresses: the dead-man time after the last advertisement, and no
    /// longer than the quorum lasts.
    pub fn lease_until(&self) -> MonotonicTime {
        match self.state {
            VrrpState::Active => {
                let hold = self.last_sent + self.settings.fencing_timeout;
                hold.min(self.permitted_until.unwrap_or(MonotonicTime::NEVER))
            }
            _ => MonotonicTime::default(),
        }
    }

    /// Applies changed settings; group, version and addresses stay the same. Running timers continue.
    pub fn update_settings(&mut self, settings: VrrpSettings) {
        if self.state == VrrpState::Idle {
            self.active_interval = settings.interval;
        }
        self.settings = settings;
    }

    /// Starts the member. `held`: the address is on this machine and its hold has not expired.
    pub fn start(&mut self, now: MonotonicTime, held: bool, out: &mut Vec<VrrpAction>) {
        if self.state != VrrpState::Idle {
            return;
        }
        if held {
            self.activate(now, TransitionReason::Resumed, out);
        } else if self.settings.priority == OWNER {
            self.activate(now, TransitionReason::Owner, out);
        } else {
            self.become_standby(now, TransitionReason::Started, out);
        }
    }

    /// The addresses are still on this machine and their hold has expired: an earlier process was active and did not
    /// end cleanly. Called before `start`.
    pub fn release_found_addresses(&mut self) {
        self.notice_due = true;
    }

    /// Stops the member; an active one sends priority 0.
    pub fn stop(&mut self, now: MonotonicTime, why: TransitionReason, out: &mut Vec<VrrpAction>) {
        if self.state == VrrpState::Active {
            self.counts.sent += 1;
            self.last_sent = now;
            out.push(VrrpAction::Send(self.settings.advertisement(RESIGNED)));
        }
        self.change_state(VrrpState::Idle, why, out);
        self.timer = MonotonicTime::NEVER;
        self.active_member = None;
    }

    pub fn tick(&mut self, now: MonotonicTime, out: &mut Vec<VrrpAction>) {
        if self.check_stall(now, out) {
            return;
        }
        if now >= self.timer {
            let state = self.state;
            match state {
                VrrpState::Idle => {}
                VrrpState::Standby
                    if self.check_activation_blocker(now, out)
                        || self.block_without_permission(now, out) => {}
                VrrpState::Standby if self.ordered => {
                    self.activate(now, TransitionReason::Ordered, out)
                }
                VrrpState::Standby if self.resigning => {
                    self.activate(now, TransitionReason::Resigned, out)
                }
                VrrpState::Standby => {
                    self.active_member = None;
                    self.activate(now, TransitionReason::Silence, out);
                }
                VrrpState::Active => self.send(now, out),
            }
        }
        if self.state == VrrpState::Active
            && self.announcements.take_due(now, self.settings.refresh)
        {
            self.announce(out);
        }
    }

    /// An advertisement of this group arrived from another member.
    pub fn receive(
        &mut self,
        now: MonotonicTime,
        source: IpAddr,
        advert: &VrrpAdvertisement,
        out: &mut Vec<VrrpAction>,
    ) {
        if self.state == VrrpState::Idle || advert.group != self.settings.group {
            return;
        }
        self.counts.received += 1;
        if advert.version != self.settings.version {
            self.counts.other_version += 1;
            return;
        }
        let same_interval = advert.interval == self.settings.interval;
        self.counts.other_interval += u64::from(!same_interval);
        if !same_interval && advert.version == VrrpVersion::V2 {
            return;
        }
        if self.has_foreign_addresses(now, source, advert, out) {
            return;
        }
        self.counts.resigned += u64::from(advert.priority == RESIGNED);
        if self.check_stall(now, out) {
            return;
        }
        match self.state {
            VrrpState::Idle => {}
            VrrpState::Standby => self.receive_on_standby(now, source, advert, out),
            VrrpState::Active => self.resolve_active_conflict(now, source, advert, out),
        }
    }

    /// Standby: an active member exists (RFC 9568 §6.4.2).
    fn receive_on_standby(
        &mut self,
        now: MonotonicTime,
        source: IpAddr,
        advert: &VrrpAdvertisement,
        out: &mut Vec<VrrpAction>,
    ) {
        if advert.priority == RESIGNED {
            // Another member is active: the resigning sender was its rival.
            if self.active_member.is_some_and(|active| active.source != source) {
                return;
            }
            self.clear_activation_blocker(out);
            self.resigning = true;
            self.active_member = None;
            self.timer = now + self.settings.skew_time(self.priority(), self.active_interval);
            return;
        }
        let lower = advert.priority < self.settings.priority;
        let theirs = MemberPrecedence { priority: advert.priority, source };
        self.active_member = Some(theirs);
        self.active_seen_at = now;
        if self.ordered {
            return;
        }
        if lower && self.settings.preempt && !self.peer.ahead && !self.handed_over {
            let since = *self.lower_priority_since.get_or_insert(now);
            if now.since(since) >= self.settings.preempt_delay {
                return;
            }
        } else {
            self.lower_priority_since = None;
        }
        self.give_notice(theirs, out);
        self.clear_activation_blocker(out);
        self.restart_timer(now, advert.interval);
    }

    /// Whether this member sent nothing for so long that another member may hold the address.
    fn check_stall(&mut self, now: MonotonicTime, out: &mut Vec<VrrpAction>) -> bool {
        let late = self.state == VrrpState::Active && now >= self.lease_until();
        if late && now < self.last_sent + self.settings.fencing_timeout {
            self.lose_permission(now, out);
        } else if late {
            self.counts.stalled += 1;
            self.become_standby(now, TransitionReason::Stalled, out);
        }
        late
    }

    fn activate(&mut self, now: MonotonicTime, why: TransitionReason, out: &mut Vec<VrrpAction>) {
        self.change_state(VrrpState::Active, why, out);
        self.counts.takeovers += 1;
        self.send(now, out);
        out.push(VrrpAction::AddAddresses);
        self.announcements.restart(now);
        if self.announcements.take_due(now, self.settings.refresh) {
            self.announce(out);
        }
    }

    fn become_standby(
        &mut self,
        now: MonotonicTime,
        why: TransitionReason,
        out: &mut Vec<VrrpAction>,
    ) {
        self.change_state(VrrpState::Standby, why, out);
        self.restart_timer(now, self.settings.interval);
    }

    /// Changes the state; an active member releases the addresses.
    fn change_state(&mut self, to: VrrpState, why: TransitionReason, out: &mut Vec<VrrpAction>) {
        let from = std::mem::replace(&mut self.state, to);
        self.lower_priority_since = None;
        self.blocked_by = None;
        self.resigning = false;
        self.handed_over &= to == VrrpState::Standby;
        if to == VrrpState::Active {
            self.notice_due = false;
        } else {
            self.ordered_priority = None;
            self.ordered = false;
        }
        if from == VrrpState::Active && to != VrrpState::Active {
            self.announcements = AnnouncementSchedule::default();
            self.notice_due = true;
            self.counts.releases += 1;
            out.push(VrrpAction::RemoveAddresses);
        }
        if from != to {
            out.push(VrrpAction::Changed { from, to, why });
        }
    }

    fn restart_timer(&mut self, now: MonotonicTime, interval: Duration) {
        self.active_interval = interval;
        self.resigning = false;
        self.timer = now + self.settings.active_down_interval(self.priority(), interval);
    }

    fn send(&mut self, now: MonotonicTime, out: &mut Vec<VrrpAction>) {
        self.counts.sent += 1;
        self.last_sent = now;
        self.timer = now + self.settings.interval;
        out.push(VrrpAction::Send(self.settings.advertisement(self.priority())));
    }

    fn announce(&mut self, out: &mut Vec<VrrpAction>) {
        self.counts.announced += 1;
        out.push(VrrpAction::Announce);
    }
}

#[cfg(test)]
mod tests;
