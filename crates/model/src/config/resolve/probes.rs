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
        probe.set_table("tls", tls, WHY);
    }
}

/// Whether nothing is said of TLS, and TLS may stand beneath it. What listens on another port may be something else.
fn inherits(probe: &Section) -> bool {
    let unsaid =
        |key: &str| probe.setting(key).is_none_or(|setting| setting.origin == Origin::Default);
    let over_tls =
        |kind| OF_KINDS.iter().any(|(key, kinds)| *key == "tls" && kinds.contains(&kind));
    unsaid("tls") && unsaid("port") && probe_kind(probe).is_none_or(over_tls)
}

/// The TLS of a pool for its probes; `tls` has the defaults.
pub(super) fn as_in_pool(mut tls: Section, pool: &Section) -> Section {
    for key in ["name", "ca", "crl", "expired-crl", "certificate", "minimum"] {
        if let Some(value) = pool.value(key) {
            tls.set(key, value.clone(), WHY);
        }
    }
    tls.set("verify", Value::Flag(pool.text("verify") != Some("off")), WHY);
    tls
}

const WHY: Origin = Origin::Derived("the pool speaks TLS");
