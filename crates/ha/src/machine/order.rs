//! What is ordered by hand: to take the addresses over, to hand them over, and to go by priorities again.

use model::moment::Moment;

use super::{Action, Machine, Refused, State, Why};
use crate::advert::{OWNER, RESIGNED};

impl Machine {
    /// Becomes active by order.
    ///
    /// # Errors
    /// It cannot.
    pub fn order(&mut self, now: Moment, out: &mut Vec<Action>) -> Result<(), Refused> {
        match self.state {
            State::Active => return Err(Refused::Active),
            State::Idle => return Err(Refused::Idle),
            State::Standby => {}
        }
        let heard = self.heard.into_iter().chain(self.peer.active).map(|(_, heard)| heard).max();
        if let Some(heard) = heard
            && heard >= self.settings.priority
        {
            if heard >= OWNER - 1 {
                return Err(Refused::Highest(heard));
            }
            self.raised = Some(heard + 1);
        }
        self.ordered = true;
        if self.agreed(now) {
            self.activate(now, Why::Ordered, out);
        } else {
            // As soon as others agree: the active one hears that it is wanted.
            self.timer = now;
        }
        Ok(())
    }

    /// Stands by by order, and says so: whoever stands by takes over. It takes nothing back from a lower priority; when
    /// nobody takes over it is active again, by silence.
    ///
    /// # Errors
    /// It cannot.
    pub fn hand_over(&mut self, now: Moment, out: &mut Vec<Action>) -> Result<(), Refused> {
        if self.state != State::Active {
            return Err(Refused::NotActive);
        }
        if self.settings.priority == OWNER {
            return Err(Refused::Owner);
        }
        self.counts.sent += 1;
        out.push(Action::Send(self.settings.advert(RESIGNED)));
        self.stand_by(now, Why::HandedOver, out);
        self.lent = true;
        Ok(())
    }

    /// Goes by priorities again: what an order raised or lent is over. Whether there was anything.
    pub fn release_order(&mut self) -> bool {
        let ordered = self.raised.is_some() || self.ordered || self.lent;
        (self.raised, self.ordered, self.lent) = (None, false, false);
        ordered
    }

    /// It is active, or stands by, by order.
    pub fn by_order(&self) -> bool {
        self.raised.is_some() || self.ordered || self.lent
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::Settings;

    const MS: Duration = Duration::from_millis(1);
    const OTHER: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn at(ms: u32) -> Moment {
        Moment(1_000_000_000) + MS * ms
    }

    fn active(priority: u8) -> Machine {
        let mut machine = Machine::new(Settings::second(priority));
        machine.begin(at(0), true, &mut Vec::new());
        machine
    }

    /// The other one, of a lower priority, advertises every 100 ms from then on; whether ours is active at the end.
    fn hear(machine: &mut Machine, from: u32, until: u32) -> bool {
        let mut out = Vec::new();
        let advert = machine.settings().advert(50);
        for ms in (from..until).step_by(10) {
            if (ms - from).is_multiple_of(100) && machine.state() == State::Standby {
                machine.receive(at(ms), OTHER, &advert, &mut out);
            }
            if machine.due() <= at(ms) {
                machine.tick(at(ms), &mut out);
            }
        }
        machine.state() == State::Active
    }

    #[test]
    fn what_is_handed_over_is_said_and_not_taken_back_until_the_order_is_over() {
        let mut machine = active(150);
        let mut out = Vec::new();
        machine.hand_over(at(10), &mut out).unwrap();
        assert_eq!(out[0], Action::Send(machine.settings().advert(RESIGNED)));
        assert_eq!(out[1], Action::Give);
        assert_eq!(machine.hand_over(at(11), &mut out), Err(Refused::NotActive));
        assert!(!hear(&mut machine, 50, 2_050) && machine.by_order());
        assert!(machine.release_order() && !machine.release_order());
        assert!(hear(&mut machine, 2_050, 4_050), "by its priority");
    }

    #[test]
    fn nobody_takes_over_and_it_is_active_again() {
        let mut machine = active(150);
        machine.hand_over(at(10), &mut Vec::new()).unwrap();
        let due = machine.due();
        assert!(due > at(310), "three intervals and the skew");
        let mut out = Vec::new();
        machine.tick(due, &mut out);
        assert!(matches!(out[0], Action::Changed { why: Why::Silence, .. }), "{out:?}");
        assert!(!machine.by_order());
    }

    #[test]
    fn an_owner_hands_nothing_over_and_a_raised_one_comes_down() {
        assert_eq!(active(255).hand_over(at(10), &mut Vec::new()), Err(Refused::Owner));
        let mut machine = active(150);
        let mut out = Vec::new();
        machine.hand_over(at(10), &mut out).unwrap();
        machine.receive(at(20), OTHER, &machine.settings().advert(200), &mut out);
        machine.order(at(30), &mut out).unwrap();
        assert_eq!(machine.priority(), 201);
        assert!(machine.release_order());
        assert_eq!((machine.state(), machine.priority()), (State::Active, 150));
    }
}
