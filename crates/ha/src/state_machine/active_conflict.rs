//! Other active members with the same group number: a rival of the same group, of which one resigns, and another group,
//! which is ignored.
//!
//! Neighbours use the last announcement. So at the end of a split the remaining member must announce the addresses
//! after the other one released them, and it must learn of the rival. Advertisements cross in any order: where the
//! higher one arrives first, the lower member resigns before it has advertised. So a member that was active answers the
//! first advertisement that it receives afterwards with one of its own.

use std::net::IpAddr;

use model::monotonic_time::MonotonicTime;

use super::{MemberPrecedence, TransitionReason, VrrpAction, VrrpState, VrrpStateMachine};
use crate::advert::{RESIGNED, VrrpAdvertisement};

impl VrrpStateMachine {
    /// Whether an advertisement is ignored because it has none of this group's addresses: it belongs to another group
    /// with the same number (RFC 9568 §7.1). An advertisement with some of them comes from a member of this group with
    /// a different configuration. It is not ignored, because two members must not answer for one address.
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

    /// Active: another member is active too (RFC 9568 §6.4.3).
    pub(super) fn resolve_active_conflict(
        &mut self,
        now: MonotonicTime,
        source: IpAddr,
        advert: &VrrpAdvertisement,
        out: &mut Vec<VrrpAction>,
    ) {
        // A flood of rivals must not cause a flood of replies.
        let quiet = now.since(self.last_reannounced) < self.settings.interval / 2;
        if advert.priority == RESIGNED {
            // The rival was active at the same time, and neighbours may still use its link.
            self.send(now, out);
            if !quiet {
                self.last_reannounced = now;
                self.announcements.restart(now);
            }
            return;
        }
        self.counts.active_conflicts += 1;
        let theirs = MemberPrecedence { priority: advert.priority, source };
        if theirs > self.precedence() {
            self.active_member = Some(theirs);
            self.become_standby(
                now,
                TransitionReason::HigherPriority(source, advert.priority),
                out,
            );
            self.give_notice(theirs, out);
            self.restart_timer(now, advert.interval);
            return;
        }
        // Advertises at once that this member stays active. Neighbours that received the rival's announcement must
        // receive this member's announcement after it.
        if !quiet {
            self.last_reannounced = now;
            self.send(now, out);
            self.announcements.restart(now);
        }
    }

    /// Restarts the announcements of an active member, as after a takeover.
    pub fn restart_announcements(&mut self, now: MonotonicTime) {
        if self.state == VrrpState::Active {
            self.announcements.restart(now);
        }
    }

    /// Called on standby, while another member is active: sends one notice that this member was active too. The notice
    /// does not use the virtual router's MAC address, because switches would then send its frames here.
    pub(super) fn give_notice(&mut self, theirs: MemberPrecedence, out: &mut Vec<VrrpAction>) {
        if !std::mem::take(&mut self.notice_due) || self.settings.virtual_link {
            return;
        }
        let below = theirs > self.precedence();
        // A tolerated member of lower priority would resign if this member advertised its own priority.
        let priority = if below { self.priority() } else { RESIGNED };
        self.counts.sent += 1;
        self.counts.notices += 1;
        out.push(VrrpAction::Send(self.settings.advertisement(priority)));
    }
}

#[cfg(test)]
mod tests;
