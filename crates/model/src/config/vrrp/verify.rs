//! Verifies VRRP groups: values that the protocol cannot carry, settings that two groups cannot share, and addresses
//! that must move together.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use super::keys::ADDRESSES;
use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::unit::Time;

pub fn verify_vrrp(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    let groups = &effective.vrrp;
    let mut ids: HashMap<(&str, u64, bool), &str> = HashMap::new();
    let mut shared: HashMap<IpAddr, &str> = HashMap::new();
    for group in groups {
        let path = format!("vrrp.{}", quote_key(&group.name));
        verify_addresses(group, &path, sink);
        verify_timers(group, &path, sink);
        verify_link_address(group, &path, sink);
        for (key, ip) in floating_addresses(group) {
            if let Some(other) = shared.insert(*ip, &group.name) {
                let trouble = FindingDetails::new(format!("{ip} is shared by `{other}` already"));
                sink.error(group.span_of(key), &format!("{path}.{key}"), trouble);
            }
        }
        let key =
            (group.text("interface").unwrap_or_default(), group.count_or_zero("id"), is_v6(group));
        if let Some(other) = ids.insert(key, &group.name) {
            let message = format!("number {} of {} is group `{other}` already", key.1, key.0);
            let trouble =
                FindingDetails::new(message).with_expected("another `id` on the same interface");
            sink.error(group.span_of("id"), &format!("{path}.id"), trouble);
        }
    }
}

/// All addresses that move with a group, each with its key.
fn floating_addresses(group: &ConfigSection) -> impl Iterator<Item = (&'static str, &IpAddr)> {
    let own = group.addresses("addresses").iter().map(|ip| ("addresses", ip));
    let also = group.list("unadvertised").iter().flat_map(|also| also.addresses("addresses"));
    own.chain(also.map(|ip| ("unadvertised", ip)))
}

/// A service's return addresses must move with the service, otherwise its connections are lost at a takeover.
pub fn verify_return_addresses(
    effective: &EffectiveSettings,
    service: &ConfigSection,
    pool: &ConfigSection,
    backs: &[IpAddr],
    sink: &mut FindingCollector<'_, '_>,
) {
    let spans: BTreeSet<IpAddr> =
        service.listen_ranges("listen").iter().map(|span| span.address).collect();
    let of = |ip: &IpAddr| {
        effective.vrrp.iter().find(|group| floating_addresses(group).any(|(_, moved)| moved == ip))
    };
    for group in spans.iter().filter_map(of) {
        for back in backs {
            let other = of(back).map(|other| other.name.as_str());
            if other == Some(group.name.as_str()) {
                continue;
            }
            let message = format!(
                "service `{}` moves with group `{}`, and its return address {back} {}: its connections end when it moves",
                service.name,
                group.name,
                other.map_or_else(
                    || "stays on its machine".to_owned(),
                    |other| format!("moves with group `{other}`")
                ),
            );
            let trouble = FindingDetails::new(message).with_expected(format!(
                "{back} in `unadvertised` of [vrrp.{}], on every member",
                quote_key(&group.name)
            ));
            let path = format!("pool.{}.source", quote_key(&pool.name));
            sink.warning(pool.span_of("source"), &path, trouble);
        }
    }
}

fn is_v6(group: &ConfigSection) -> bool {
    group.addresses("addresses").first().is_some_and(IpAddr::is_ipv6)
}

fn verify_addresses(group: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let v6 = is_v6(group);
    let mut wrong = |key: &str, trouble: FindingDetails| {
        sink.error(group.span_of(key), &format!("{path}.{key}"), trouble);
    };
    let shared = group.addresses("addresses");
    if shared.len() > ADDRESSES {
        let message = format!("{} addresses do not fit one advertisement", shared.len());
        wrong(
            "addresses",
            FindingDetails::new(message).with_expected(format!("at most {ADDRESSES}")),
        );
    }
    let also = floating_addresses(group).count() - shared.len();
    if also > ADDRESSES {
        let trouble = FindingDetails::new(format!("{also} more addresses are too many"));
        wrong("unadvertised", trouble.with_expected(format!("at most {ADDRESSES}")));
    }
    for (key, ip) in floating_addresses(group).filter(|(_, ip)| is_unusable_address(**ip)) {
        wrong(key, FindingDetails::new(format!("{ip} cannot be shared")));
    }
    let family = if v6 { "IPv6" } else { "IPv4" };
    for key in ["addresses", "peers", "source"] {
        if let Some(ip) = group.addresses(key).iter().find(|ip| ip.is_ipv6() != v6) {
            let trouble = FindingDetails::new(format!("{ip} is not of the family of `addresses`"))
                .with_expected(format!("{family} alone: the other family is a group of its own"));
            wrong(key, trouble);
        }
    }
    if group.addresses("source").len() > 1 {
        wrong(
            "source",
            FindingDetails::new("advertisements have one source").with_expected("one address"),
        );
    }
    if v6 && group.count("version") == Some(2u64) {
        let trouble = FindingDetails::new("version 2 has no IPv6").with_expected("`version = 3`");
        wrong("version", trouble);
    }
}

/// The virtual router's link address must belong to no interface, and switches must learn it from the active member's
/// advertisements, which therefore must be multicast.
fn verify_link_address(group: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    if group.text("link-address") != Some("virtual") {
        return;
    }
    let mut wrong = |trouble: FindingDetails| {
        sink.error(group.span_of("link-address"), &format!("{path}.link-address"), trouble);
    };
    if group.count("priority") == Some(255u64) {
        let trouble =
            FindingDetails::new("with priority 255 the addresses are the interface's own");
        wrong(trouble.with_expected("another `priority`, or `link-address = \"own\"`"));
    }
    if !group.addresses("peers").is_empty() {
        let message =
            "advertisements to `peers` alone do not show switches where the virtual router is";
        wrong(
            FindingDetails::new(message).with_expected("no `peers`, or `link-address = \"own\"`"),
        );
    }
}

fn is_unusable_address(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified() || ip.is_multicast()
}

fn verify_timers(group: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let mut wrong = |key: &str, trouble: FindingDetails| {
        sink.error(group.span_of(key), &format!("{path}.{key}"), trouble);
    };
    let advertise = group.time_or_zero("advertise");
    let two = group.count("version") == Some(2u64);
    // The units of the interval field: seconds in version 2 (RFC 3768 §5.3.7), centiseconds in version 3 (RFC 9568
    // §5.2.7).
    let step = if two { Duration::from_secs(1) } else { Duration::from_millis(10) };
    if !advertise.as_nanos().is_multiple_of(step.as_nanos()) {
        let trouble = FindingDetails::new("the interval cannot be written into an advertisement");
        wrong("advertise", trouble.with_expected(format!("a multiple of {}", Time(step))));
    }
    let others = advertise * 3;
    if let Some(fencing_timeout) = group
        .time("fencing-timeout")
        .filter(|time| group.is_written("fencing-timeout") && *time >= others)
    {
        let message = format!(
            "the others take over after {} and more, and we would still answer",
            Time(others)
        );
        let trouble = FindingDetails::new(message).with_found(Time(fencing_timeout).to_string());
        wrong("fencing-timeout", trouble.with_expected(format!("less than {}", Time(others))));
    }
    if let Some(fencing_timeout) =
        group.time("fencing-timeout").filter(|time| *time < advertise * 2)
    {
        let message = "one late advertisement would shut the address";
        let trouble = FindingDetails::new(message).with_found(Time(fencing_timeout).to_string());
        wrong(
            "fencing-timeout",
            trouble.with_expected(format!("at least {}", Time(advertise * 2))),
        );
    }
    if !group.flag("preempt") && group.is_written("preempt-delay") {
        let trouble =
            FindingDetails::new("nothing is taken over from a lower priority, however late");
        wrong("preempt-delay", trouble.with_expected("`preempt = true`, or no delay"));
    }
}
