//! What a group set in the kernel and another program took away: what was set again, and what cannot be set.

use std::collections::HashMap;
use std::time::Duration;

use l4::next_hops::NextHopLink;
use model::monotonic_time::MonotonicTime;

use crate::planes::packets::netlink::AssignedAddress;

/// The delay before a retry after the kernel rejected every address; each failure doubles it. A member that repeatedly
/// takes over and gives up would make the address unreachable on all members.
const RETRY: Duration = Duration::from_secs(10);
/// And no later than this.
const MAX_RETRY: Duration = Duration::from_secs(640);
/// After this time, a backup counts as able to set its addresses. Without an attempt for a minute, the kernel's present
/// state is unknown.
const FORGET: Duration = Duration::from_secs(60);

/// The addresses and interfaces of this host.
#[derive(Clone, Copy)]
pub struct KernelAddresses<'a> {
    pub addresses: &'a [AssignedAddress],
    pub links: &'a HashMap<u32, NextHopLink>,
}

/// Some of the addresses are not set.
#[derive(Clone, Debug)]
pub struct MissingAddresses {
    pub since: MonotonicTime,
    /// Why, for people.
    pub reason: String,
}

/// The kernel refused all of the addresses.
#[derive(Clone, Debug)]
struct AddressRefusal {
    /// The next attempt is made then.
    until: MonotonicTime,
    /// Why, for people.
    reason: String,
}

/// Addresses that were restored, and addresses that cannot be set.
#[derive(Debug, Default)]
pub struct AddressRepair {
    /// Addresses that were restored.
    pub count: u64,
    /// When it was last.
    pub last_restored: Option<MonotonicTime>,
    /// When that was reported last.
    pub last_reported: Option<MonotonicTime>,
    /// The last check of settings that change without a notification.
    pub last_checked: Option<MonotonicTime>,
    pub missing: Option<MissingAddresses>,
    refused: Option<AddressRefusal>,
    /// How long the next refusal counts; zero: there was none since they were set last.
    wait: Duration,
}

impl AddressRepair {
    /// Why the group cannot be active now, if the kernel refused all of its addresses not long ago.
    pub fn refusal(&mut self, now: MonotonicTime) -> Option<String> {
        self.refused = self.refused.take().filter(|refusal| now < refusal.until);
        self.refused.as_ref().map(|refusal| refusal.reason.clone())
    }

    /// The kernel refused all of them.
    pub fn record_refusal(&mut self, now: MonotonicTime, reason: String) {
        let wait = self.wait.clamp(RETRY, MAX_RETRY);
        self.refused = Some(AddressRefusal { until: now + wait, reason });
        self.wait = wait * 2;
    }

    /// All of them are set.
    pub fn record_complete(&mut self) {
        self.missing = None;
        self.wait = Duration::ZERO;
    }

    /// Why some of the addresses cannot be set.
    pub fn obstacle(&mut self, now: MonotonicTime, active: bool) -> Option<String> {
        self.missing =
            self.missing.take().filter(|missing| active || now.since(missing.since) < FORGET);
        self.missing.as_ref().map(|missing| missing.reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_counts_for_longer_each_time_until_the_addresses_are_set() {
        let mut restored = AddressRepair::default();
        let mut now = MonotonicTime(1_000_000_000);
        let mut waited = Vec::new();
        for _ in 0..8 {
            restored.record_refusal(now, "no".to_owned());
            let begun = now;
            while restored.refusal(now).is_some() {
                now = now + Duration::from_secs(1);
            }
            waited.push(now.since(begun).as_secs());
        }
        assert_eq!(waited, [10, 20, 40, 80, 160, 320, 640, 640]);
        restored.record_complete();
        restored.record_refusal(now, "no".to_owned());
        assert!(restored.refusal(now + Duration::from_secs(9)).is_some());
        assert!(restored.refusal(now + Duration::from_secs(10)).is_none());
    }
}
