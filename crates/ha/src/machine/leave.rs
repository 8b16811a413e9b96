//! A member whose address must never be at two machines: it is active only as long as others agree. Who they are, and
//! until when they do, is `witness`'s.

use std::net::IpAddr;

use model::moment::Moment;

use super::{Action, Machine, State, Why, Withheld};
use crate::advert::RESIGNED;

impl Machine {
    /// Until when it may be active; `None`: nobody has to agree.
    pub fn permit(&mut self, now: Moment, leave: Option<Moment>, out: &mut Vec<Action>) {
        self.leave = leave;
        if self.withheld == Some(Withheld::Alone) && self.agreed(now) {
            self.withheld = None;
            out.push(Action::Withheld(None));
            self.timer = now;
        }
    }

    /// Until when it may be active.
    pub fn leave(&self) -> Option<Moment> {
        self.leave
    }

    /// It is to be active, and waits for others to agree.
    pub fn wants(&self) -> bool {
        self.state == State::Standby && (self.withheld == Some(Withheld::Alone) || self.ordered)
    }

    /// Whether it may be active now.
    pub(super) fn agreed(&self, now: Moment) -> bool {
        self.leave.is_none_or(|leave| now < leave)
    }

    /// Nothing else keeps it from becoming active: whether others do.
    pub(super) fn forbidden(&mut self, now: Moment, out: &mut Vec<Action>) -> bool {
        if self.agreed(now) {
            return false;
        }
        self.timer = now + self.settings.interval;
        if self.withheld != Some(Withheld::Alone) {
            self.counts.withheld += u64::from(self.withheld.is_none());
            self.withheld = Some(Withheld::Alone);
            out.push(Action::Withheld(self.withheld));
        }
        true
    }

    /// Active, and nobody agrees any more.
    pub(super) fn lapse(&mut self, now: Moment, out: &mut Vec<Action>) {
        self.counts.alone += 1;
        self.part(now, Why::Alone, out);
    }

    /// Active, and the other one is to be.
    pub(super) fn make_way(&mut self, now: Moment, out: &mut Vec<Action>) {
        let Some((source, priority)) = self.peer.wants else { return };
        self.part(now, Why::Better(source, priority), out);
        self.note(now, source, priority);
    }

    fn note(&mut self, now: Moment, source: IpAddr, priority: u8) {
        (self.heard, self.heard_at) = (Some((source, priority)), now);
    }

    fn part(&mut self, now: Moment, why: Why, out: &mut Vec<Action>) {
        self.counts.sent += 1;
        out.push(Action::Send(self.settings.advert(RESIGNED)));
        self.stand_by(now, why, out);
    }
}

#[cfg(test)]
mod tests;
