//! Others that are active under the same number: a rival of the same group, of which one gives up, and another group,
//! which is not followed.
//!
//! Neighbours believe whoever announced last. So at the end of a split the member that stays must announce the addresses
//! after the other one gave them up, and it must hear of that one to know. Advertisements cross in any order: where the
//! higher one's comes first, the lower one gives up before it has advertised. So whoever was active answers the first
//! advertisement it hears afterwards with one of its own.

use std::net::IpAddr;

use model::monotonic_time::MonotonicTime;

use super::{TransitionReason, VrrpAction, VrrpState, VrrpStateMachine};
use crate::advert::{RESIGNED, VrrpAdvertisement};

impl VrrpStateMachine {
    /// Whether an advertisement is not followed because none of its addresses is ours: it is another group's with the
    /// same number (RFC 9568 §7.1). With some of ours it is a member of this group whose configuration differs: that is
    /// followed, for two must not answer for one address.
    pub(super) fn has_foreign_addresses(
        &mut self,
        now: MonotonicTime,
        source: IpAddr,
        advert: &VrrpAdvertisement,
        out: &mut Vec<VrrpAction>,
    ) -> bool {
        let ours = &self.settings.addresses;
        let common = advert.addresses.iter().filter(|ip| ours.contains(ip)).count();
        if common == ours.len() && common == advert.addresses.len() {
            return false;
        }
        let foreign = common == 0;
        self.counts.other_addresses += 1;
        self.counts.foreign += u64::from(foreign);
        if self.conflict.should_report(now, source, &advert.addresses) {
            let addresses = advert.addresses.clone();
            out.push(VrrpAction::OtherAddresses { source, addresses, foreign });
        }
        foreign
    }

    /// Active: somebody else is too (RFC 9568 §6.4.3).
    pub(super) fn resolve_active_conflict(
        &mut self,
        now: MonotonicTime,
        source: IpAddr,
        advert: &VrrpAdvertisement,
        out: &mut Vec<VrrpAction>,
    ) {
        // A flood of rivals must not make a flood of answers.
        let quiet = now.since(self.last_reannounced) < self.settings.interval / 2;
        if advert.priority == RESIGNED {
            // It was active beside us, and neighbours may believe it.
            self.send(now, out);
            if !quiet {
                self.last_reannounced = now;
                self.announcements.restart(now);
            }
            return;
        }
        self.counts.active_conflicts += 1;
        let theirs = (advert.priority, source);
        if theirs > (self.priority(), self.settings.source) {
            self.active_member = Some((source, advert.priority));
            self.become_standby(
                now,
                TransitionReason::HigherPriority(source, advert.priority),
                out,
            );
            self.give_notice(theirs, out);
            self.restart_timer(now, advert.interval);
            return;
        }
        // Say at once that the place is taken. Neighbours that heard the rival must hear us after it.
        if !quiet {
            self.last_reannounced = now;
            self.send(now, out);
            self.announcements.restart(now);
        }
    }

    /// An active member's neighbours hear of the addresses from now on as after a change.
    pub fn restart_announcements(&mut self, now: MonotonicTime) {
        if self.state == VrrpState::Active {
            self.announcements.restart(now);
        }
    }

    /// Standing by, with an active member heard: says once that this one was active too. It is not said with the virtual
    /// router's link address, which neighbours need not learn anew, and which switches would look for here.
    pub(super) fn give_notice(&mut self, theirs: (u8, IpAddr), out: &mut Vec<VrrpAction>) {
        if !std::mem::take(&mut self.notice_due) || self.settings.virtual_link {
            return;
        }
        let below = theirs > (self.priority(), self.settings.source);
        // A lower one that is borne would give up if this one advertised its priority.
        let priority = if below { self.priority() } else { RESIGNED };
        self.counts.sent += 1;
        self.counts.notices += 1;
        out.push(VrrpAction::Send(self.settings.advertisement(priority)));
    }
}

#[cfg(test)]
mod tests;
