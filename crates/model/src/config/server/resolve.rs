//! Effective settings of a server: settings inherited from its pool, its name and its health check.

use super::keys::SERVER;
use crate::config::decode::address::derive_server_name;
use crate::config::probe::resolve_probe;
use crate::config::section::{ConfigSection, SettingOrigin};
use crate::config::setting_layers::{LayerTier, layers, resolve_layers};
use crate::config::value::ConfigValue;

pub fn resolve_server(
    written: &ConfigSection,
    pool: &ConfigSection,
    tls: Option<&ConfigSection>,
) -> ConfigSection {
    let mut server = resolve_layers(&SERVER, &layers(written, pool, LayerTier::Pool), false);
    if server.setting("name").is_none()
        && let Some(name) = server.server_address("address").map(derive_server_name)
    {
        server.set(
            "name",
            ConfigValue::Text(name.into()),
            SettingOrigin::Derived("from its address"),
        );
    }
    resolve_probe(&mut server, tls);
    server.shrink();
    server
}
