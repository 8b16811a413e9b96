//! Defaults of a VRRP group.

use super::keys::VRRP;
use crate::config::section::{ConfigSection, SettingOrigin};
use crate::config::setting_layers::resolve_top_table;
use crate::config::value::ConfigValue;

pub fn resolve_vrrp(written: &ConfigSection) -> ConfigSection {
    let mut group = resolve_top_table(&VRRP, written);
    if group.setting("fencing-timeout").is_none() {
        let time = group.time_or_zero("advertise") * 5 / 2;
        group.set(
            "fencing-timeout",
            ConfigValue::Time(time),
            SettingOrigin::Derived("two and a half times `advertise`"),
        );
    }
    group
}
