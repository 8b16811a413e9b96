//! Effective settings of a service: inheritance, defaults, and its rules.

use super::keys::SERVICE;
use crate::config::affinity::fill_affinity_defaults;
use crate::config::default_bounds::{cap_default, raise_default};
use crate::config::schema::ValueKind;
use crate::config::section::{
    ConfigSection, ContentView, SettingContent, SettingOrigin, SettingView,
};
use crate::config::setting_layers::{LayerTier, SettingLayer, layers, resolve_layers};
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
            raise_default(protocol, "window-most", "window", 1);
        }
    }
    for key in ["rule", "edit", "error-page"] {
        resolve_list(&mut service, written, key);
    }
    service
}

/// Gives each table of a list its defaults; it inherits nothing.
fn resolve_list(service: &mut ConfigSection, written: &ConfigSection, key: &str) {
    if let Some(found) = SERVICE.find(key)
        && let ValueKind::List { table, .. } = found.key.kind
        && let Some(SettingView { content: ContentView::List(_), origin }) = service.setting(key)
    {
        let own = |one| [SettingLayer::own(one)];
        let list = written.list(key).iter().map(|one| resolve_layers(table, &own(one), false));
        let list = list.collect();
        service.set_slot(found.at, SettingContent::List(list), origin);
    }
}
