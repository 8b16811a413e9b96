//! Operator's orders: take the addresses over, hand them over, and return to priorities.

use model::monotonic_time::MonotonicTime;

use super::{OrderRejection, TransitionReason, VrrpAction, VrrpState, VrrpStateMachine};
use crate::advert::{OWNER, RESIGNED};

impl VrrpStateMachine {
    /// Activates this member by order.
    ///
    /// # Errors
    /// The member cannot become active.
    pub fn order_active(
        &mut self,
        now: MonotonicTime,
        out: &mut Vec<VrrpAction>,
    ) -> Result<(), OrderRejection> {
        match self.state {
            VrrpState::Active => return Err(OrderRejection::Active),
            VrrpState::Idle => return Err(OrderRejection::Idle),
            VrrpState::Standby => {}
        }
        let known = self.active_member.into_iter().chain(self.peer.active);
        let heard = known.map(|theirs| theirs.priority).max();
        if let Some(heard) = heard
            && heard >= self.settings.priority
        {
            if heard >= OWNER - 1 {
                return Err(OrderRejection::Highest(heard));
            }
            self.ordered_priority = Some(heard + 1);
        }
        self.ordered = true;
        if self.is_permitted(now) {
            self.activate(now, TransitionReason::Ordered, out);
        } else {
            // The member takes over as soon as the quorum agrees. The active member learns of the request.
            self.timer = now;
        }
        Ok(())
    }

    /// Goes to standby by an operator's order and advertises priority 0, so that a standby member takes over. This
    /// member does not preempt a lower priority. If no member takes over, this member becomes active after the usual
    /// silence.
    ///
    /// # Errors
    /// The member cannot hand over.
    pub fn hand_over(
        &mut self,
        now: MonotonicTime,
        out: &mut Vec<VrrpAction>,
    ) -> Result<(), OrderRejection> {
        if self.state != VrrpState::Active {
            return Err(OrderRejection::NotActive);
        }
        if self.settings.priority == OWNER {
            return Err(OrderRejection::Owner);
        }
        self.counts.sent += 1;
        out.push(VrrpAction::Send(self.settings.advertisement(RESIGNED)));
        self.become_standby(now, TransitionReason::HandedOver, out);
        self.handed_over = true;
        Ok(())
    }

    /// Ends the effect of an operator's order, so that priorities decide. Returns whether an order was in effect.
    pub fn release_order(&mut self) -> bool {
        let ordered = self.ordered_priority.is_some() || self.ordered || self.handed_over;
        self.ordered_priority = None;
        self.ordered = false;
        self.handed_over = false;
        ordered
    }

    pub fn is_by_order(&self) -> bool {
        self.ordered_priority.is_some() || self.ordered || self.handed_over
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::VrrpSettings;

    const MS: Duration = Duration::from_millis(1);
    const OTHER: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn at(ms: u32) -> MonotonicTime {
        MonotonicTime(1_000_000_000) + MS * ms
    }

    fn active(priority: u8) -> VrrpStateMachine {
        let mut machine = VrrpStateMachine::new(VrrpSettings::backup_of_pair(priority));
        machine.start(at(0), true, &mut Vec::new());
        machine
    }

    /// The other member, of a lower priority, advertises every 100 ms. Returns whether this member is active at the
    /// end.
    fn hear(machine: &mut VrrpStateMachine, from: u32, until: u32) -> bool {
        let mut out = Vec::new();
        let advert = machine.settings().advertisement(50);
        for ms in (from..until).step_by(10) {
            if (ms - from).is_multiple_of(100) && machine.state() == VrrpState::Standby {
                machine.receive(at(ms), OTHER, &advert, &mut out);
            }
            if machine.next_due() <= at(ms) {
                machine.tick(at(ms), &mut out);
            }
        }
        machine.state() == VrrpState::Active
    }

    #[test]
    fn a_handover_is_advertised_and_lasts_until_the_order_ends() {
        let mut machine = active(150);
        let mut out = Vec::new();
        machine.hand_over(at(10), &mut out).unwrap();
        assert_eq!(out[0], VrrpAction::Send(machine.settings().advertisement(RESIGNED)));
        assert_eq!(out[1], VrrpAction::RemoveAddresses);
        assert_eq!(machine.hand_over(at(11), &mut out), Err(OrderRejection::NotActive));
        assert!(!hear(&mut machine, 50, 2_050) && machine.is_by_order());
        assert!(machine.release_order() && !machine.release_order());
        assert!(hear(&mut machine, 2_050, 4_050), "by its priority");
    }

    #[test]
    fn a_handover_without_a_successor_ends_active() {
        let mut machine = active(150);
        machine.hand_over(at(10), &mut Vec::new()).unwrap();
        let due = machine.next_due();
        assert!(due > at(310), "three intervals and the skew");
        let mut out = Vec::new();
        machine.tick(due, &mut out);
        assert!(
            matches!(out[0], VrrpAction::Changed { why: TransitionReason::Silence, .. }),
            "{out:?}"
        );
        assert!(!machine.is_by_order());
    }

    #[test]
    fn an_owner_hands_nothing_over_and_a_raised_one_comes_down() {
        assert_eq!(active(255).hand_over(at(10), &mut Vec::new()), Err(OrderRejection::Owner));
        let mut machine = active(150);
        let mut out = Vec::new();
        machine.hand_over(at(10), &mut out).unwrap();
        machine.receive(at(20), OTHER, &machine.settings().advertisement(200), &mut out);
        machine.order_active(at(30), &mut out).unwrap();
        assert_eq!(machine.priority(), 201);
        assert!(machine.release_order());
        assert_eq!((machine.state(), machine.priority()), (VrrpState::Active, 150));
    }
}
