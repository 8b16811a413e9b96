//! What a group set in the kernel and another program took away: what was set again, and what cannot be set.

use std::collections::HashMap;
use std::time::Duration;

use l4::hops::Link;
use model::moment::Moment;

use super::alive::now;
use crate::packets::netlink::Address;

/// After the kernel refused every address it is asked again so much later.
const RETRY: Duration = Duration::from_secs(10);
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
    /// Since when, and why, none of them can be set.
    pub refused: Option<(Moment, String)>,
}

impl Restored {
    /// Why the group cannot be active now, if the kernel refused all of its addresses not long ago.
    pub fn refusal(&mut self) -> Option<String> {
        self.refused = self.refused.take().filter(|(at, _)| now().since(*at) < RETRY);
        self.refused.as_ref().map(|(_, why)| why.clone())
    }

    /// Why some of the addresses cannot be set.
    pub fn obstacle(&mut self, active: bool) -> Option<String> {
        self.missing = self.missing.take().filter(|(at, _)| active || now().since(*at) < FORGET);
        self.missing.as_ref().map(|(_, why)| why.clone())
    }
}
