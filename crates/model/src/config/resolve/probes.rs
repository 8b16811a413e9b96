//! The TLS of a pool beneath those of its probes that say nothing of TLS.

use super::super::section::{ConfigSection, SettingOrigin};
use super::super::tables::probe::OF_KINDS;
use super::super::value::ConfigValue;
use super::kind_defaults::probe_kind;

/// Has a probe that says nothing of TLS speak this, which is that of its pool as `as_in_pool` has it.
pub(super) fn inherit_pool_tls(probe: &mut ConfigSection, tls: Option<&ConfigSection>) {
    if let Some(tls) = tls.filter(|_| inherits_pool_tls(probe)) {
        let mut tls = tls.clone();
        tls.span = probe.span;
        probe.set_table("tls", tls, SPEAKS_TLS);
    }
}

/// Whether nothing is said of TLS, and TLS may stand beneath it. What listens on another port may be something else.
fn inherits_pool_tls(probe: &ConfigSection) -> bool {
    let over_tls =
        |kind| OF_KINDS.iter().any(|(key, kinds)| *key == "tls" && kinds.contains(&kind));
    is_unwritten(probe, "tls")
        && is_unwritten(probe, "port")
        && probe_kind(probe).is_none_or(over_tls)
}

/// Whether nobody wrote a key, here or further away.
pub(super) fn is_unwritten(section: &ConfigSection, key: &str) -> bool {
    section.setting(key).is_none_or(|setting| setting.origin == SettingOrigin::Default)
}

/// The TLS of a pool for its probes; `tls` has the defaults.
pub(super) fn pool_tls_for_probes(mut tls: ConfigSection, pool: &ConfigSection) -> ConfigSection {
    for key in ["name", "ca", "crl", "expired-crl", "certificate", "minimum"] {
        if let Some(value) = pool.value(key) {
            tls.set(key, value.clone(), SPEAKS_TLS);
        }
    }
    tls.set("verify", ConfigValue::Flag(pool.text("verify") != Some("off")), SPEAKS_TLS);
    tls
}

/// Why a setting is what it is.
pub(super) const SPEAKS_TLS: SettingOrigin = SettingOrigin::Derived("the pool speaks TLS");
