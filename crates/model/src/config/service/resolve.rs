//! Effective settings of a service: inheritance and defaults.

use super::keys::SERVICE;
use crate::config::affinity::fill_affinity_defaults;
use crate::config::default_bounds::{cap_default, raise_default};
use crate::config::section::{ConfigSection, SettingOrigin};
use crate::config::setting_layers::{LayerTier, layers, resolve_layers};
use crate::config::value::ConfigValue;

pub fn resolve_service(
    written: &ConfigSection,
    above: &ConfigSection,
    global: &ConfigSection,
) -> ConfigSection {
    let mut service = resolve_layers(&SERVICE, &layers(written, above, LayerTier::Global), false);
    service.name.clone_from(&written.name);
    if let Some(timeout) = service.table_mut("timeout")
        && timeout.setting("drain").is_none()
    {
        timeout.set(
            "drain",
            ConfigValue::Time(global.time_or_zero("drain")),
            SettingOrigin::Derived("as global.drain"),
        );
    }
    if let Some(sticky) = service.table_mut("sticky") {
        fill_affinity_defaults(sticky);
    }
    if let Some(limit) = service.table_mut("limit") {
        cap_default(limit, "target-bytes", "header-bytes");
    }
    for protocol in ["http2", "http3"] {
        if let Some(protocol) = service.table_mut(protocol) {
            raise_default(protocol, "max-window", "window", 1);
        }
    }
    service
}
