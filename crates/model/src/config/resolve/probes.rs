//! The TLS of a pool beneath those of its probes that say nothing of TLS.

use super::super::section::{Origin, Section};
use super::super::tables::probe::OF_KINDS;
use super::super::value::Value;
use super::kinds::probe_kind;

/// Has a probe that says nothing of TLS speak this, which is that of its pool as `as_in_pool` has it.
pub(super) fn speak_as_pool(probe: &mut Section, tls: Option<&Section>) {
    if let Some(tls) = tls.filter(|_| inherits(probe)) {
        let mut tls = tls.clone();
        tls.place = probe.place;
        probe.set_table("tls", tls, SPEAKS_TLS);
    }
}

/// Whether nothing is said of TLS, and TLS may stand beneath it. What listens on another port may be something else.
fn inherits(probe: &Section) -> bool {
    let over_tls =
        |kind| OF_KINDS.iter().any(|(key, kinds)| *key == "tls" && kinds.contains(&kind));
    unsaid(probe, "tls") && unsaid(probe, "port") && probe_kind(probe).is_none_or(over_tls)
}

/// Whether nobody wrote a key, here or further away.
pub(super) fn unsaid(section: &Section, key: &str) -> bool {
    section.setting(key).is_none_or(|setting| setting.origin == Origin::Default)
}

/// The TLS of a pool for its probes; `tls` has the defaults.
pub(super) fn as_in_pool(mut tls: Section, pool: &Section) -> Section {
    for key in ["name", "ca", "crl", "expired-crl", "certificate", "minimum"] {
        if let Some(value) = pool.value(key) {
            tls.set(key, value.clone(), SPEAKS_TLS);
        }
    }
    tls.set("verify", Value::Flag(pool.text("verify") != Some("off")), SPEAKS_TLS);
    tls
}

/// Why a setting is what it is.
pub(super) const SPEAKS_TLS: Origin = Origin::Derived("the pool speaks TLS");
