//! Defaults of a name that depend on its zone, its policy and the order of its addresses.

use super::types::{is_within_zone, normalize_name};
use crate::config::section::{ConfigSection, SettingOrigin};
use crate::config::value::ConfigValue;

/// Adds the defaults of a name.
pub fn fill_name_defaults(mut host: ConfigSection, zones: &[ConfigSection]) -> ConfigSection {
    let name = normalize_name(&host.name);
    let zone = zones.iter().filter(|zone| is_within_zone(&name, &normalize_name(&zone.name)));
    if let Some(zone) = zone.max_by_key(|zone| zone.name.len())
        && host.setting("ttl").is_none()
    {
        host.set(
            "ttl",
            ConfigValue::Time(zone.time_or_zero("ttl")),
            SettingOrigin::Derived("as `ttl` of its zone"),
        );
    }
    let foreign: &[&str] = match (host.text("cname"), host.text("policy")) {
        (Some(_), _) => &["policy", "answers", "fallback", "mask4", "mask6"],
        (None, Some("sticky")) => &[],
        _ => &["mask4", "mask6"],
    };
    let last = (!host.addresses("last-resort").is_empty()).then_some("fallback");
    for key in foreign.iter().copied().chain(last) {
        if !host.is_written(key) {
            host.clear(key);
        }
    }
    for (at, one) in host.list_mut("addresses").into_iter().flatten().enumerate() {
        if one.setting("name").is_none() {
            let name = ConfigValue::Text(format!("a{}", at + 1).into());
            one.set("name", name, SettingOrigin::Derived("by its position"));
        }
    }
    host
}
