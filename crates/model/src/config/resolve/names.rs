//! What follows for a name from its zone, its policy and the order of its addresses.

use super::super::names::{plain, within};
use super::super::section::{Origin, Section};
use super::super::value::Value;

/// Fills in what a name does not say itself.
pub(super) fn settle(mut host: Section, zones: &[Section]) -> Section {
    let name = plain(&host.name);
    let zone = zones.iter().filter(|zone| within(&name, &plain(&zone.name)));
    if let Some(zone) = zone.max_by_key(|zone| zone.name.len())
        && host.setting("ttl").is_none()
    {
        host.set("ttl", Value::Time(zone.span("ttl")), Origin::Derived("as `ttl` of its zone"));
    }
    let foreign: &[&str] = match (host.text("cname"), host.text("policy")) {
        (Some(_), _) => &["policy", "answers", "fallback", "mask4", "mask6"],
        (None, Some("sticky")) => &[],
        _ => &["mask4", "mask6"],
    };
    let last = (!host.addresses("last-resort").is_empty()).then_some("fallback");
    for key in foreign.iter().copied().chain(last) {
        if !host.wrote(key) {
            host.clear(key);
        }
    }
    for (at, one) in host.list_mut("addresses").into_iter().flatten().enumerate() {
        if one.setting("name").is_none() {
            let name = Value::Text(format!("a{}", at + 1).into());
            one.set("name", name, Origin::Derived("by its position"));
        }
    }
    host
}
