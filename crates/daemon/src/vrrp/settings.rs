//! A group's configuration as its machine goes by it. Pure.

use std::net::IpAddr;
use std::time::Duration;

use ha::advert::Version;
use ha::settings::Settings;
use model::config::{LinkAddress, Vrrp};

/// Without a dead man's time an active member never loses the address by silence.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

/// What the machine goes by. `source`: our address.
pub fn settings(config: &Vrrp, source: IpAddr) -> Settings {
    Settings {
        version: if config.version == 2 { Version::Two } else { Version::Three },
        group: config.id,
        priority: config.priority,
        interval: config.advertise,
        preempt: config.preempt,
        preempt_delay: config.preempt_delay,
        addresses: config.addresses.clone(),
        source,
        dead_man: config.dead_man.unwrap_or(NEVER),
        refresh: config.announce_every,
        virtual_link: config.link_address == LinkAddress::Virtual,
    }
}
