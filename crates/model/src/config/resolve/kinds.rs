//! Defaults that depend on the kind written beside them: of a balance, an agent, a probe, a way of telling clients apart.

use std::borrow::Cow;

use super::super::section::{Origin, Section};
use super::super::tables::agent::OF_AGENTS;
use super::super::tables::balance::OWNED;
use super::super::tables::probe::{KINDS, OF_KINDS, PROGRAM};
use super::super::value::Value;
use super::defaults::{cap_default, raise_default};
use super::uses::Uses;

pub fn settle_balance(balance: &mut Section, uses: Uses) {
    if balance.setting("by").is_none() {
        let (word, why) = if uses.http {
            ("least-request", "an http service uses the pool")
        } else {
            ("round-robin", "no http service uses the pool")
        };
        balance.set("by", Value::Word(word), Origin::Derived(why));
    }
    let by = balance.text("by").unwrap_or_default().to_owned();
    for (key, owners) in OWNED {
        if !owners.contains(&by.as_str()) && !balance.wrote(key) {
            balance.clear(key);
        }
    }
}

/// Defaults of what this way of telling clients apart does not have.
pub fn settle_sticky(sticky: &mut Section) {
    let by = sticky.text("by").unwrap_or_default().to_owned();
    let ours = by == "cookie" && sticky.text("cookie") != Some("learn");
    let foreign = |key: &&&str| if **key == "entries" { ours } else { by != "address" };
    for key in ["mask4", "mask6", "entries"].iter().filter(foreign) {
        if !sticky.wrote(key) {
            sticky.clear(key);
        }
    }
}

pub fn settle_agent(agent: &mut Section) {
    cap_default(agent, "timeout", "every");
    raise_default(agent, "age", "every", 3);
    let kind = agent.text("kind").unwrap_or_default().to_owned();
    for (key, kinds) in OF_AGENTS {
        if !kinds.contains(&kind.as_str()) && !agent.wrote(key) {
            agent.clear(key);
        }
    }
}

pub fn settle_probe(probe: &mut Section) {
    for key in ["timeout", "doubt"] {
        cap_default(probe, key, "every");
    }
    let kind = probe_kind(probe);
    for (key, kinds) in OF_KINDS {
        if !kind.is_some_and(|kind| kinds.contains(&kind)) && !probe.wrote(key) {
            probe.clear(key);
        }
    }
    let untold = probe.setting("status").is_some_and(|setting| setting.origin == Origin::Default);
    if kind == Some("sip") && untold {
        let good = Value::Status(Cow::Borrowed(&[(200, 299)]));
        probe.set("status", good, Origin::Derived("the probe is `sip`"));
    }
}

/// The kind of a probe: the key that names it; TLS alone is a connection with its handshake.
pub fn probe_kind(probe: &Section) -> Option<&'static str> {
    let named = KINDS.iter().chain([&PROGRAM]).find(|kind| probe.setting(kind).is_some());
    named.copied().or(probe.table("tls").map(|_| "tcp"))
}
