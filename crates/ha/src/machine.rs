//! One member of one group: VRRP's state machine (RFC 9568 §6.4), with a dead man's hold on the address.
//!
//! ```text
//!            begin                     silence of the active one, or an order
//!   Idle ───────────▶ Standby ─────────────────────────────────────────────▶ Active
//!    ▲                 │   ▲                                                  │  │
//!    └─────────────────┘   └── a better advertisement, or we said nothing ────┘  │
//!    └──────────────────────────── fault or end: priority 0 is sent ─────────────┘
//! ```
//!
//! Beyond the document: an active member that could not send for the dead man's time stands by, for the others do not
//! know of it any more; a lower priority is borne for a set time; an order (`order`) makes active, or stands by;
//! what the heartbeat says of the other member (`peer`) keeps from becoming active, or calls for giving up; whoever gave
//! up tells the active member so (`rival`), and another group with the same number is not followed.

mod conflict;
mod leave;
mod order;
mod peer;
mod rival;
mod said;

use std::net::IpAddr;
use std::time::Duration;

use model::moment::Moment;

use crate::advert::{Advert, OWNER, RESIGNED, Version};
use crate::announce::Announcements;
use crate::counts::Counts;
use crate::settings::Settings;
use conflict::Conflict;
pub use said::{Action, Peer, Refused, State, Why, Withheld};

/// A member of a group.
#[derive(Clone, Debug)]
pub struct Machine {
    settings: Settings,
    state: State,
    /// When the active one counts as gone, or the next advertisement is due.
    timer: Moment,
    /// Set when the active one has said that it goes.
    resigning: bool,
    /// The interval of the active one (RFC 9568 §6.1, `Active_Adver_Interval`).
    heard_interval: Duration,
    /// The active one's priority as heard last.
    heard: Option<(IpAddr, u8)>,
    /// Since when a lower priority is borne.
    borne: Option<Moment>,
    /// When an advertisement of somebody who is active came last.
    heard_at: Moment,
    /// A priority by order, until we are not active any more.
    raised: Option<u8>,
    /// Active by order, which stands above what the heartbeat says of reach.
    ordered: bool,
    /// Standing by by order: nothing is taken from a lower priority, until we were active again.
    lent: bool,
    /// It was active since it heard an active member last: that one may not know, and neither do all neighbours.
    notice_due: bool,
    conflict: Conflict,
    peer: Peer,
    withheld: Option<Withheld>,
    /// Until when it may be active; `None`: nobody has to agree.
    leave: Option<Moment>,
    last_sent: Moment,
    last_asserted: Moment,
    announcements: Announcements,
    counts: Counts,
}

impl Machine {
    /// One that has not begun.
    pub fn new(settings: Settings) -> Machine {
        Machine {
            heard_interval: settings.interval,
            settings,
            state: State::Idle,
            timer: Moment::NEVER,
            resigning: false,
            heard: None,
            borne: None,
            heard_at: Moment::default(),
            raised: None,
            ordered: false,
            lent: false,
            notice_due: false,
            conflict: Conflict::default(),
            peer: Peer::default(),
            withheld: None,
            leave: None,
            last_sent: Moment::default(),
            last_asserted: Moment::default(),
            announcements: Announcements::default(),
            counts: Counts::default(),
        }
    }

    /// What it is.
    pub fn state(&self) -> State {
        self.state
    }

    /// What it counted.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What it was told.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The priority that it has now.
    pub fn priority(&self) -> u8 {
        self.raised.unwrap_or(self.settings.priority)
    }

    /// Who was heard to be active last, and with which priority.
    pub fn heard(&self) -> Option<(IpAddr, u8)> {
        self.heard
    }

    /// When `tick` is to be called next; a member that takes no part never.
    pub fn due(&self) -> Moment {
        let over = match self.state {
            State::Active => self.leave.unwrap_or(Moment::NEVER),
            _ => Moment::NEVER,
        };
        let announcement = match self.state {
            State::Active => self.announcements.due(self.settings.refresh),
            _ => Moment::NEVER,
        };
        self.timer.min(announcement).min(over)
    }

    /// Until when the address may be answered for: the dead man's time after the last advertisement, and no longer than
    /// others agree.
    pub fn hold(&self) -> Moment {
        match self.state {
            State::Active => {
                let hold = self.last_sent + self.settings.dead_man;
                hold.min(self.leave.unwrap_or(Moment::NEVER))
            }
            _ => Moment::default(),
        }
    }

    /// What it was told changed: the group, its version and its addresses stay. What was waited for is waited for still.
    pub fn set(&mut self, settings: Settings) {
        if self.state == State::Idle {
            self.heard_interval = settings.interval;
        }
        self.settings = settings;
    }

    /// Takes part from now on. `held`: the address is on this machine and its hold has not run out.
    pub fn begin(&mut self, now: Moment, held: bool, out: &mut Vec<Action>) {
        if self.state != State::Idle {
            return;
        }
        if held {
            self.activate(now, Why::Resumed, out);
        } else if self.settings.priority == OWNER {
            self.activate(now, Why::Owner, out);
        } else {
            self.stand_by(now, Why::Begun, out);
        }
    }

    /// The addresses were found on this machine, and their hold is over: a process before this one was active and did not
    /// end well. Called before `begin`.
    pub fn found_addresses(&mut self) {
        self.notice_due = true;
    }

    /// Takes no part any more; an active one says so.
    pub fn end(&mut self, now: Moment, why: Why, out: &mut Vec<Action>) {
        if self.state == State::Active {
            self.counts.sent += 1;
            self.last_sent = now;
            out.push(Action::Send(self.settings.advert(RESIGNED)));
        }
        self.become_(State::Idle, why, out);
        self.timer = Moment::NEVER;
        self.heard = None;
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Moment, out: &mut Vec<Action>) {
        if self.stalled(now, out) {
            return;
        }
        if now >= self.timer {
            let state = self.state;
            match state {
                State::Idle => {}
                State::Standby if self.withholds(now, out) || self.forbidden(now, out) => {}
                State::Standby if self.ordered => self.activate(now, Why::Ordered, out),
                State::Standby if self.resigning => self.activate(now, Why::Resigned, out),
                State::Standby => {
                    self.heard = None;
                    self.activate(now, Why::Silence, out);
                }
                State::Active => self.send(now, out),
            }
        }
        if self.state == State::Active && self.announcements.take(now, self.settings.refresh) {
            self.announce(out);
        }
    }

    /// An advertisement of this group arrived from another member.
    pub fn receive(&mut self, now: Moment, source: IpAddr, advert: &Advert, out: &mut Vec<Action>) {
        if self.state == State::Idle || advert.group != self.settings.group {
            return;
        }
        self.counts.received += 1;
        if advert.version != self.settings.version {
            self.counts.other_version += 1;
            return;
        }
        let same_interval = advert.interval == self.settings.interval;
        self.counts.other_interval += u64::from(!same_interval);
        if !same_interval && advert.version == Version::Two {
            return;
        }
        if self.conflicts(now, source, advert, out) {
            return;
        }
        self.counts.resigned += u64::from(advert.priority == RESIGNED);
        if self.stalled(now, out) {
            return;
        }
        match self.state {
            State::Idle => {}
            State::Standby => self.heed(now, source, advert, out),
            State::Active => self.contend(now, source, advert, out),
        }
    }

    /// Standing by: somebody is active (RFC 9568 §6.4.2).
    fn heed(&mut self, now: Moment, source: IpAddr, advert: &Advert, out: &mut Vec<Action>) {
        if advert.priority == RESIGNED {
            // Somebody else is active: whoever gives up here was its rival.
            if self.heard.is_some_and(|(active, _)| active != source) {
                return;
            }
            self.release(out);
            self.resigning = true;
            self.heard = None;
            self.timer = now + self.settings.skew(self.priority(), self.heard_interval);
            return;
        }
        let lower = advert.priority < self.settings.priority;
        (self.heard, self.heard_at) = (Some((source, advert.priority)), now);
        if self.ordered {
            return;
        }
        if lower && self.settings.preempt && !self.peer.ahead && !self.lent {
            let since = *self.borne.get_or_insert(now);
            if now.since(since) >= self.settings.preempt_delay {
                return;
            }
        } else {
            self.borne = None;
        }
        self.give_notice((advert.priority, source), out);
        self.release(out);
        self.wait(now, advert.interval);
    }

    /// Whether we were silent so long that others hold the address by now.
    fn stalled(&mut self, now: Moment, out: &mut Vec<Action>) -> bool {
        let late = self.state == State::Active && now >= self.hold();
        if late && now < self.last_sent + self.settings.dead_man {
            self.lapse(now, out);
        } else if late {
            self.counts.stalled += 1;
            self.stand_by(now, Why::Stalled, out);
        }
        late
    }

    fn activate(&mut self, now: Moment, why: Why, out: &mut Vec<Action>) {
        self.become_(State::Active, why, out);
        self.counts.taken += 1;
        self.send(now, out);
        out.push(Action::Take);
        self.announcements.begin(now);
        if self.announcements.take(now, self.settings.refresh) {
            self.announce(out);
        }
    }

    fn stand_by(&mut self, now: Moment, why: Why, out: &mut Vec<Action>) {
        self.become_(State::Standby, why, out);
        self.wait(now, self.settings.interval);
    }

    /// Changes the state; whoever was active gives the addresses up.
    fn become_(&mut self, to: State, why: Why, out: &mut Vec<Action>) {
        let from = std::mem::replace(&mut self.state, to);
        (self.borne, self.withheld) = (None, None);
        self.resigning = false;
        self.lent &= to == State::Standby;
        if to == State::Active {
            self.notice_due = false;
        } else {
            (self.raised, self.ordered) = (None, false);
        }
        if from == State::Active && to != State::Active {
            self.announcements = Announcements::default();
            self.notice_due = true;
            self.counts.given += 1;
            out.push(Action::Give);
        }
        if from != to {
            out.push(Action::Changed { from, to, why });
        }
    }

    fn wait(&mut self, now: Moment, interval: Duration) {
        self.heard_interval = interval;
        self.resigning = false;
        self.timer = now + self.settings.down(self.priority(), interval);
    }

    fn send(&mut self, now: Moment, out: &mut Vec<Action>) {
        self.counts.sent += 1;
        self.last_sent = now;
        self.timer = now + self.settings.interval;
        out.push(Action::Send(self.settings.advert(self.priority())));
    }

    fn announce(&mut self, out: &mut Vec<Action>) {
        self.counts.announced += 1;
        out.push(Action::Announce);
    }
}

#[cfg(test)]
mod tests;
