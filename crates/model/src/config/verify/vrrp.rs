//! Judges groups of VRRP: what the protocol cannot carry, and what two groups cannot share.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::section::Section;
use super::super::tables::vrrp::ADDRESSES;
use super::super::unit::Time;

/// Judge all of them.
pub fn verify(groups: &[Section], sink: &mut Sink<'_, '_>) {
    let mut ids: HashMap<(&str, u64, bool), &str> = HashMap::new();
    let mut shared: HashMap<IpAddr, &str> = HashMap::new();
    for group in groups {
        let path = format!("vrrp.{}", quoted(&group.name));
        addresses(group, &path, sink);
        times(group, &path, sink);
        for ip in group.addresses("addresses") {
            if let Some(other) = shared.insert(*ip, &group.name) {
                let trouble = Trouble::new(format!("{ip} is shared by `{other}` already"));
                sink.error(group.place_of("addresses"), &format!("{path}.addresses"), trouble);
            }
        }
        let key = (group.text("interface").unwrap_or_default(), group.number("id"), is_v6(group));
        if let Some(other) = ids.insert(key, &group.name) {
            let message = format!("number {} of {} is group `{other}` already", key.1, key.0);
            let trouble = Trouble::new(message).expected("another `id` on the same interface");
            sink.error(group.place_of("id"), &format!("{path}.id"), trouble);
        }
    }
}

fn is_v6(group: &Section) -> bool {
    group.addresses("addresses").first().is_some_and(IpAddr::is_ipv6)
}

fn addresses(group: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let v6 = is_v6(group);
    let mut wrong = |key: &str, trouble: Trouble| {
        sink.error(group.place_of(key), &format!("{path}.{key}"), trouble);
    };
    let shared = group.addresses("addresses");
    if shared.len() > ADDRESSES {
        let message = format!("{} addresses do not fit one advertisement", shared.len());
        wrong("addresses", Trouble::new(message).expected(format!("at most {ADDRESSES}")));
    }
    if let Some(ip) = shared.iter().find(|ip| ip.is_loopback()) {
        wrong("addresses", Trouble::new(format!("{ip} cannot be shared")));
    }
    let family = if v6 { "IPv6" } else { "IPv4" };
    for key in ["addresses", "peers", "source"] {
        if let Some(ip) = group.addresses(key).iter().find(|ip| ip.is_ipv6() != v6) {
            let trouble = Trouble::new(format!("{ip} is not of the family of `addresses`"))
                .expected(format!("{family} alone: the other family is a group of its own"));
            wrong(key, trouble);
        }
    }
    if group.addresses("source").len() > 1 {
        wrong("source", Trouble::new("advertisements have one source").expected("one address"));
    }
    if v6 && group.count("version") == Some(2u64) {
        let trouble = Trouble::new("version 2 has no IPv6").expected("`version = 3`");
        wrong("version", trouble);
    }
}

fn times(group: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let mut wrong = |key: &str, trouble: Trouble| {
        sink.error(group.place_of(key), &format!("{path}.{key}"), trouble);
    };
    let advertise = group.span("advertise");
    let two = group.count("version") == Some(2u64);
    let step = if two { Duration::from_secs(1) } else { Duration::from_millis(10) };
    if !advertise.as_nanos().is_multiple_of(step.as_nanos()) {
        let trouble = Trouble::new("the interval cannot be written into an advertisement");
        wrong("advertise", trouble.expected(format!("a multiple of {}", Time(step))));
    }
    let others = advertise * 3;
    if let Some(dead_man) =
        group.time("dead-man").filter(|time| group.wrote("dead-man") && *time >= others)
    {
        let message = format!(
            "the others take over after {} and more, and we would still answer",
            Time(others)
        );
        let trouble = Trouble::new(message).found(Time(dead_man).to_string());
        wrong("dead-man", trouble.expected(format!("less than {}", Time(others))));
    }
    if let Some(dead_man) = group.time("dead-man").filter(|time| *time < advertise * 2) {
        let message = "one late advertisement would shut the address";
        let trouble = Trouble::new(message).found(Time(dead_man).to_string());
        wrong("dead-man", trouble.expected(format!("at least {}", Time(advertise * 2))));
    }
    if !group.flag("preempt") && group.wrote("preempt-delay") {
        let trouble = Trouble::new("nothing is taken over from a lower priority, however late");
        wrong("preempt-delay", trouble.expected("`preempt = true`, or no delay"));
    }
}
