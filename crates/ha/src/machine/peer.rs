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

use model::moment::Moment;

use super::{Action, Machine, Peer, State, Why, Withheld};
use crate::advert::{OWNER, RESIGNED};

impl Machine {
    /// What keeps it from becoming active by silence.
    pub fn withheld(&self) -> Option<Withheld> {
        self.withheld
    }

    /// It is active by order, which stands above reach.
    pub fn ordered(&self) -> bool {
        self.ordered
    }

    /// What the heartbeat says of the other member now.
    pub fn advise(&mut self, now: Moment, peer: Peer, out: &mut Vec<Action>) {
        let before = std::mem::replace(&mut self.peer, peer);
        match self.state {
            State::Idle => {}
            State::Standby => self.reconsider(now, before, out),
            State::Active => self.yield_to(now, out),
        }
    }

    fn reconsider(&mut self, now: Moment, before: Peer, out: &mut Vec<Action>) {
        let Peer { alive, unsure, active, ahead, .. } = self.peer;
        let gone = before.active.filter(|_| active.is_none());
        if let Some((source, _)) = gone
            && alive
            && (self.withheld.is_some() || self.heard.is_some_and(|(heard, _)| heard == source))
        {
            // It says that it gave up.
            self.resigning = true;
            self.heard = None;
            let skew = self.settings.skew(self.priority(), self.heard_interval);
            self.timer = self.timer.min(now + skew);
        }
        let heartbeats = self.withheld.is_some_and(|why| why != Withheld::Alone);
        if heartbeats && active.is_none() && !ahead && !unsure {
            self.withheld = None;
            out.push(Action::Withheld(None));
            self.timer = if alive { self.timer } else { now };
        }
    }

    fn yield_to(&mut self, now: Moment, out: &mut Vec<Action>) {
        if self.settings.priority == OWNER {
            return;
        }
        let ours = (self.priority(), self.settings.source);
        match self.peer.active {
            Some((source, priority)) if self.peer.knows && (priority, source) > ours => {
                self.heard = Some((source, priority));
                self.stand_by(now, Why::Better(source, priority), out);
            }
            None if self.peer.wants.is_some_and(|theirs| {
                let (source, priority) = theirs;
                (priority, source) > ours
            }) =>
            {
                self.make_way(now, out)
            }
            None if self.peer.ahead && !self.ordered => {
                self.counts.sent += 1;
                out.push(Action::Send(self.settings.advert(RESIGNED)));
                self.stand_by(now, Why::Behind, out);
            }
            _ => {}
        }
    }

    /// Nobody is heard to be active by VRRP any more: whether the heartbeat keeps from taking over.
    pub(super) fn withholds(&mut self, now: Moment, out: &mut Vec<Action>) -> bool {
        if self.ordered {
            return false;
        }
        let Peer { unsure, active, ahead, .. } = self.peer;
        // A lower priority is heard, and not borne any more: that is no silence.
        let preempts =
            self.borne.is_some() && now.since(self.heard_at) < self.heard_interval * 2 && !ahead;
        if preempts {
            return false;
        }
        let why = match active {
            // Its resignation may have come before its next beat.
            Some((source, priority)) if !self.resigning => Withheld::Active(source, priority),
            _ if ahead => Withheld::Ahead,
            _ if unsure => {
                self.timer = now + self.settings.interval;
                return true;
            }
            _ => return false,
        };
        self.timer = now + self.settings.interval;
        if self.withheld.is_none() {
            self.counts.withheld += 1;
        }
        if self.withheld != Some(why) {
            self.withheld = Some(why);
            out.push(Action::Withheld(Some(why)));
        }
        true
    }

    /// Somebody is heard by VRRP: nothing else keeps from taking over.
    pub(super) fn release(&mut self, out: &mut Vec<Action>) {
        if self.withheld.take().is_some() {
            out.push(Action::Withheld(None));
        }
    }
}

#[cfg(test)]
mod tests;
