//! What a group set in the kernel and another program took away: what was set again, and what cannot be set.

use std::collections::HashMap;
use std::time::Duration;

use l4::hops::Link;
use model::moment::Moment;

use crate::packets::netlink::Address;

/// After the kernel refused every address it is asked again so much later, and twice as much each further time: a member
/// that takes over and gives up by turns keeps the address from everybody.
const RETRY: Duration = Duration::from_secs(10);
/// And no later than this.
const LATEST: Duration = Duration::from_secs(640);
/// A member that stands by cannot tell whether an address can be set by now: after so long it counts as fit again.
const FORGET: Duration = Duration::from_secs(60);

/// What this machine has.
#[derive(Clone, Copy)]
pub struct Here<'a> {
    /// Its addresses.
    pub addresses: &'a [Address],
    /// Its links.
    pub links: &'a HashMap<u32, Link>,
}

/// What was set again, and what cannot be set.
#[derive(Debug, Default)]
pub struct Restored {
    /// Addresses that were set again.
    pub count: u64,
    /// When it was last.
    pub at: Option<Moment>,
    /// When that was reported last.
    pub told: Option<Moment>,
    /// When it was looked at what changes without a notice.
    pub looked: Option<Moment>,
    /// Since when, and why, some of the addresses are not set.
    pub missing: Option<(Moment, String)>,
    /// Until when, and why, none of them can be set.
    refused: Option<(Moment, String)>,
    /// How long the next refusal counts; zero: there was none since they were set last.
    wait: Duration,
}

impl Restored {
    /// Why the group cannot be active now, if the kernel refused all of its addresses not long ago.
    pub fn refusal(&mut self, now: Moment) -> Option<String> {
        self.refused = self.refused.take().filter(|(until, _)| now < *until);
        self.refused.as_ref().map(|(_, why)| why.clone())
    }

    /// The kernel refused all of them.
    pub fn refuse(&mut self, now: Moment, why: String) {
        let wait = self.wait.clamp(RETRY, LATEST);
        (self.refused, self.wait) = (Some((now + wait, why)), wait * 2);
    }

    /// All of them are set.
    pub fn complete(&mut self) {
        (self.missing, self.wait) = (None, Duration::ZERO);
    }

    /// Why some of the addresses cannot be set.
    pub fn obstacle(&mut self, now: Moment, active: bool) -> Option<String> {
        self.missing = self.missing.take().filter(|(at, _)| active || now.since(*at) < FORGET);
        self.missing.as_ref().map(|(_, why)| why.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_counts_for_longer_each_time_until_the_addresses_are_set() {
        let (mut restored, mut now) = (Restored::default(), Moment(1_000_000_000));
        let mut waited = Vec::new();
        for _ in 0..8 {
            restored.refuse(now, "no".to_owned());
            let begun = now;
            while restored.refusal(now).is_some() {
                now = now + Duration::from_secs(1);
            }
            waited.push(now.since(begun).as_secs());
        }
        assert_eq!(waited, [10, 20, 40, 80, 160, 320, 640, 640]);
        restored.complete();
        restored.refuse(now, "no".to_owned());
        assert!(restored.refusal(now + Duration::from_secs(9)).is_some());
        assert!(restored.refusal(now + Duration::from_secs(10)).is_none());
    }
}
