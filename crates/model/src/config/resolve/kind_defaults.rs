//! Defaults that depend on the kind written beside them: of a balance, an agent, a probe, a way of telling clients apart.

use std::borrow::Cow;

use super::super::section::{ConfigSection, SettingOrigin};
use super::super::tables::agent::KEYS_BY_AGENT_KIND;
use super::super::tables::balance::KEYS_BY_POLICY;
use super::super::tables::probe::{KINDS, OF_KINDS, PROGRAM};
use super::super::value::ConfigValue;
use super::defaults::{cap_default, raise_default};
use super::pool_usage::PoolUsage;

pub fn fill_balance_defaults(balance: &mut ConfigSection, uses: PoolUsage) {
    if balance.setting("by").is_none() {
        let (word, why) = if uses.http {
            ("least-request", "an http service uses the pool")
        } else {
            ("round-robin", "no http service uses the pool")
        };
        balance.set("by", ConfigValue::Keyword(word), SettingOrigin::Derived(why));
    }
    let by = balance.text("by").unwrap_or_default().to_owned();
    for (key, owners) in KEYS_BY_POLICY {
        if !owners.contains(&by.as_str()) && !balance.is_written(key) {
            balance.clear(key);
        }
    }
}

/// Defaults of what this way of telling clients apart does not have.
pub fn fill_affinity_defaults(sticky: &mut ConfigSection) {
    let by = sticky.text("by").unwrap_or_default().to_owned();
    let ours = by == "cookie" && sticky.text("cookie") != Some("learn");
    let foreign = |key: &&&str| if **key == "entries" { ours } else { by != "address" };
    for key in ["mask4", "mask6", "entries"].iter().filter(foreign) {
        if !sticky.is_written(key) {
            sticky.clear(key);
        }
    }
}

pub fn fill_agent_defaults(agent: &mut ConfigSection) {
    cap_default(agent, "timeout", "every");
    raise_default(agent, "age", "every", 3);
    let kind = agent.text("kind").unwrap_or_default().to_owned();
    for (key, kinds) in KEYS_BY_AGENT_KIND {
        if !kinds.contains(&kind.as_str()) && !agent.is_written(key) {
            agent.clear(key);
        }
    }
}

pub fn fill_probe_defaults(probe: &mut ConfigSection) {
    for key in ["timeout", "doubt"] {
        cap_default(probe, key, "every");
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
        let good = ConfigValue::Status(Cow::Borrowed(&[(200, 299)]));
        probe.set("status", good, SettingOrigin::Derived("the probe is `sip`"));
    }
}

/// The kind of a probe: the key that names it; TLS alone is a connection with its handshake.
pub fn probe_kind(probe: &ConfigSection) -> Option<&'static str> {
    let named = KINDS.iter().chain([&PROGRAM]).find(|kind| probe.setting(kind).is_some());
    named.copied().or(probe.table("tls").map(|_| "tcp"))
}
