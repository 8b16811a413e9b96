//! Defaults of a health check that depend on its kind and on the TLS of its pool.

use std::borrow::Cow;

use super::keys::{KINDS, OF_KINDS, PROBE_TABLE, PROGRAM, TLS};
use crate::config::default_bounds::cap_default;
use crate::config::section::{ConfigSection, SettingOrigin};
use crate::config::setting_layers::resolve_layers;
use crate::config::status_range::StatusRange;
use crate::config::value::ConfigValue;

/// Resolves the health check of a pool or server. The default for a pool with TLS is a TLS handshake.
pub fn resolve_probe(section: &mut ConfigSection, tls: Option<&ConfigSection>) {
    if is_unwritten(section, "probe") {
        match tls {
            Some(_) => {
                section.set_table("probe", resolve_layers(&PROBE_TABLE, &[], true), SPEAKS_TLS)
            }
            None => section.set("probe", ConfigValue::Unset("off"), SettingOrigin::Default),
        }
    }
    if let Some(probe) = section.table_mut("probe") {
        inherit_pool_tls(probe, tls);
        fill_probe_defaults(probe);
    }
}

/// The TLS settings of a pool for health checks that have none of their own.
pub fn resolve_probe_tls(pool: &ConfigSection) -> Option<ConfigSection> {
    let tls = pool.table("tls")?;
    Some(pool_tls_for_probes(resolve_layers(&TLS, &[], true), tls))
}

/// Gives a health check without `tls` the TLS settings of its pool, made by `pool_tls_for_probes`.
pub fn inherit_pool_tls(probe: &mut ConfigSection, tls: Option<&ConfigSection>) {
    if let Some(tls) = tls.filter(|_| inherits_pool_tls(probe)) {
        let mut tls = tls.clone();
        tls.span = probe.span;
        probe.set_table("tls", tls, SPEAKS_TLS);
    }
}

/// Whether `tls` is absent and the kind supports TLS. A different port may belong to another protocol, so it does not
/// inherit.
fn inherits_pool_tls(probe: &ConfigSection) -> bool {
    let over_tls =
        |kind| OF_KINDS.iter().any(|(key, kinds)| *key == "tls" && kinds.contains(&kind));
    is_unwritten(probe, "tls")
        && is_unwritten(probe, "port")
        && probe_kind(probe).is_none_or(over_tls)
}

/// Whether a key is not written, here or in an outer table.
pub fn is_unwritten(section: &ConfigSection, key: &str) -> bool {
    section.setting(key).is_none_or(|setting| setting.origin == SettingOrigin::Default)
}

/// The TLS settings of a pool for its health checks; `tls` has the defaults.
pub fn pool_tls_for_probes(mut tls: ConfigSection, pool: &ConfigSection) -> ConfigSection {
    for key in ["name", "ca", "crl", "expired-crl", "certificate", "minimum"] {
        if let Some(value) = pool.value(key) {
            tls.set(key, value.clone(), SPEAKS_TLS);
        }
    }
    tls.set("verify", ConfigValue::Flag(pool.text("verify") != Some("off")), SPEAKS_TLS);
    tls
}

/// Origin text of inherited TLS settings.
pub const SPEAKS_TLS: SettingOrigin = SettingOrigin::Derived("the pool speaks TLS");

pub fn fill_probe_defaults(probe: &mut ConfigSection) {
    for key in ["timeout", "fast-interval"] {
        cap_default(probe, key, "interval");
    }
    let kind = probe_kind(probe);
    for (key, kinds) in OF_KINDS {
        if !kind.is_some_and(|kind| kinds.contains(&kind)) && !probe.is_written(key) {
            probe.clear(key);
        }
    }
    let untold =
        probe.setting("status").is_some_and(|setting| setting.origin == SettingOrigin::Default);
    if kind == Some("sip") && untold {
        let good = ConfigValue::Status(Cow::Borrowed(&[StatusRange { first: 200, last: 299 }]));
        probe.set("status", good, SettingOrigin::Derived("the probe is `sip`"));
    }
}

/// The kind of a health check, from its key. `tls` alone means a TCP connection with a TLS handshake.
pub fn probe_kind(probe: &ConfigSection) -> Option<&'static str> {
    let named = KINDS.iter().chain([&PROGRAM]).find(|kind| probe.setting(kind).is_some());
    named.copied().or(probe.table("tls").map(|_| "tcp"))
}
