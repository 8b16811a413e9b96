//! What a group of VRRP is told by its configuration. It decides nothing.

use std::net::IpAddr;
use std::time::Duration;

use crate::advert::{Advert, Version};

/// A group as one member runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The version that is sent and understood.
    pub version: Version,
    /// The virtual router's number.
    pub group: u8,
    /// 1–254, or 255 for the owner of the address.
    pub priority: u8,
    /// Between two advertisements while active.
    pub interval: Duration,
    /// Takes over from a lower priority.
    pub preempt: bool,
    /// How long a lower priority is borne before that.
    pub preempt_delay: Duration,
    /// The shared addresses.
    pub addresses: Vec<IpAddr>,
    /// Our address, which the others see as the source.
    pub source: IpAddr,
    /// An active member that has sent nothing for so long has lost the address; shorter than three intervals.
    pub dead_man: Duration,
    /// While active the addresses are announced again so often; `None`: only after a change.
    pub refresh: Option<Duration>,
    /// The addresses have the virtual router's link address, which moves with them.
    pub virtual_link: bool,
}

impl Settings {
    /// The advertisement of this group with this priority.
    pub fn advert(&self, priority: u8) -> Advert {
        Advert {
            version: self.version,
            group: self.group,
            priority,
            interval: self.interval,
            addresses: self.addresses.clone(),
        }
    }

    /// How long a member of this priority waits longer than three intervals (RFC 9568 §6.1; for version 2 in
    /// fractions of a second, RFC 3768 §6.1).
    pub fn skew(&self, priority: u8, interval: Duration) -> Duration {
        let whole = match self.version {
            Version::Two => Duration::from_secs(1),
            Version::Three => interval,
        };
        whole * (256 - u32::from(priority)) / 256
    }

    /// After so long without an advertisement the active member is gone.
    pub fn down(&self, priority: u8, interval: Duration) -> Duration {
        interval * 3 + self.skew(priority, interval)
    }
}

#[cfg(test)]
impl Settings {
    /// Of the second one of two members, with tenths of a second between advertisements.
    pub fn second(priority: u8) -> Settings {
        Settings {
            version: Version::Three,
            group: 51,
            priority,
            interval: Duration::from_millis(100),
            preempt: true,
            preempt_delay: Duration::ZERO,
            addresses: vec![[192, 0, 2, 10].into()],
            source: [192, 0, 2, 2].into(),
            dead_man: Duration::from_millis(250),
            refresh: None,
            virtual_link: false,
        }
    }
}
