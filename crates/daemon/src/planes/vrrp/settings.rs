//! A group's configuration in the form that its state machine uses. Pure.

use std::net::IpAddr;
use std::time::Duration;

use ha::advert::VrrpVersion;
use ha::settings::VrrpSettings;
use model::config::{LinkAddressMode, VrrpConfig};

/// Without a dead man's time an active member never loses the address by silence.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

/// The settings of the state machine. `source`: this member's address.
pub fn group_settings(config: &VrrpConfig, source: IpAddr) -> VrrpSettings {
    VrrpSettings {
        version: if config.version == 2 { VrrpVersion::V2 } else { VrrpVersion::V3 },
        group: config.id,
        priority: config.priority,
        interval: config.advertise,
        preempt: config.preempt,
        preempt_delay: config.preempt_delay,
        addresses: config.addresses.clone(),
        source,
        fencing_timeout: config.fencing_timeout.unwrap_or(NEVER),
        refresh: config.announce_every,
        virtual_link: config.link_address == LinkAddressMode::Virtual,
    }
}
