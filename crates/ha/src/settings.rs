//! The configuration of a VRRP group.

use std::net::IpAddr;
use std::time::Duration;

use crate::advert::{VrrpAdvertisement, VrrpVersion};

/// A group as one member runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VrrpSettings {
    /// The version that is sent and accepted.
    pub version: VrrpVersion,
    /// The virtual router's number.
    pub group: u8,
    /// 1–254, or 255 for the owner of the address.
    pub priority: u8,
    /// Time between two advertisements while active.
    pub interval: Duration,
    /// Take over from a member of lower priority.
    pub preempt: bool,
    /// How long a lower priority is tolerated before the takeover.
    pub preempt_delay: Duration,
    pub addresses: Vec<IpAddr>,
    /// Our address, the source of our advertisements.
    pub source: IpAddr,
    /// The dead-man time: an active member that has sent nothing for this long has lost the address. Shorter than three
    /// intervals.
    pub fencing_timeout: Duration,
    /// Interval of announcements while active; `None`: announce only after a change.
    pub refresh: Option<Duration>,
    /// The addresses use the virtual router's MAC address, which moves with them.
    pub virtual_link: bool,
}

impl VrrpSettings {
    /// The advertisement of this group with this priority.
    pub fn advertisement(&self, priority: u8) -> VrrpAdvertisement {
        VrrpAdvertisement {
            version: self.version,
            group: self.group,
            priority,
            interval: self.interval,
            addresses: self.addresses.clone(),
        }
    }

    /// The additional wait of a member of this priority beyond three intervals (RFC 9568 §6.1; for version 2 in
    /// fractions of a second, RFC 3768 §6.1).
    pub fn skew_time(&self, priority: u8, interval: Duration) -> Duration {
        let whole = match self.version {
            // Version 2 counts the skew in fractions of a second, for every interval.
            VrrpVersion::V2 => Duration::from_secs(1),
            VrrpVersion::V3 => interval,
        };
        whole * (256 - u32::from(priority)) / 256
    }

    /// After this time without an advertisement the active member is down (RFC 9568 §6.1, `Active_Down_Interval`).
    pub fn active_down_interval(&self, priority: u8, interval: Duration) -> Duration {
        interval * 3 + self.skew_time(priority, interval)
    }
}

#[cfg(test)]
impl VrrpSettings {
    /// The second of two members, with tenths of a second between advertisements.
    pub fn backup_of_pair(priority: u8) -> VrrpSettings {
        VrrpSettings {
            version: VrrpVersion::V3,
            group: 51,
            priority,
            interval: Duration::from_millis(100),
            preempt: true,
            preempt_delay: Duration::ZERO,
            addresses: vec![[192, 0, 2, 10].into()],
            source: [192, 0, 2, 2].into(),
            fencing_timeout: Duration::from_millis(250),
            refresh: None,
            virtual_link: false,
        }
    }
}
