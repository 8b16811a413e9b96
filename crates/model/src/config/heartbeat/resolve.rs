//! Defaults of a heartbeat that depend on the VRRP groups.

use std::time::Duration;

use crate::config::section::{ConfigSection, SettingOrigin};
use crate::config::value::ConfigValue;

/// The default advertisement interval of VRRP (RFC 9568 §5.2.7).
const EVERY: Duration = Duration::from_secs(1);

/// Adds the defaults of a heartbeat. With equal intervals, a lost member is detected about as fast as by VRRP alone.
pub fn fill_heartbeat_defaults(
    mut heartbeat: ConfigSection,
    groups: &[ConfigSection],
) -> ConfigSection {
    if heartbeat.setting("interval").is_none() {
        let shortest = groups.iter().filter_map(|group| group.time("advertise")).min();
        let (time, why) = match shortest {
            // The longest value that `interval` accepts; `advertise` may be longer.
            Some(time) => (time.min(Duration::from_secs(10)), "the shortest `advertise`"),
            None => (EVERY, "there is no group"),
        };
        heartbeat.set("interval", ConfigValue::Time(time), SettingOrigin::Derived(why));
    }
    if heartbeat.setting("timeout").is_none() {
        let time = heartbeat.time_or_zero("interval") * 3;
        heartbeat.set(
            "timeout",
            ConfigValue::Time(time),
            SettingOrigin::Derived("three times `interval`"),
        );
    }
    heartbeat
}
