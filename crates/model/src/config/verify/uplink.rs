//! Judges uplinks: what cannot be one, and what two of them cannot share.

use std::collections::HashMap;
use std::net::IpAddr;

use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::section::{Section, Slot};
use super::super::source::Place;
use super::super::tables::uplink::TARGETS;
use super::super::value::Value;

/// Judge all of them.
pub fn verify(uplinks: &[Section], all: &Section, sink: &mut Sink<'_, '_>) {
    let mut gateways: HashMap<(&str, IpAddr), &str> = HashMap::new();
    let mut sources: HashMap<IpAddr, &str> = HashMap::new();
    for uplink in uplinks {
        let path = format!("uplink.{}", quoted(&uplink.name));
        let interface = uplink.text("interface").unwrap_or_default();
        let via = uplink.addresses("via");
        each(uplink, "via", &path, sink);
        each(uplink, "source", &path, sink);
        for ip in via {
            if let Some(other) = gateways.insert((interface, *ip), &uplink.name) {
                let message = format!("{ip} at {interface} is the gateway of `{other}` already");
                let trouble =
                    Trouble::new(message).expected("a gateway of its own for each uplink");
                sink.error(uplink.place_of("via"), &format!("{path}.via"), trouble);
            }
        }
        for ip in uplink.addresses("source") {
            let at = (uplink.place_of("source"), format!("{path}.source"));
            if let Some(other) = sources.insert(*ip, &uplink.name) {
                let trouble = Trouble::new(format!("{ip} is the source of `{other}` already"))
                    .expected("an address of its own: by it packets find their uplink");
                sink.error(at.0, &at.1, trouble);
            } else if !via.iter().any(|via| via.is_ipv6() == ip.is_ipv6()) {
                let trouble = Trouble::new(format!("{ip} has no gateway of its family"));
                sink.error(at.0, &at.1, trouble.expected("a gateway for each source"));
            }
        }
        if let Some(probe) = uplink.table("probe") {
            // Where nothing is written of it the uplink is shown.
            let place = uplink.place_of("probe");
            targets((probe, place), via, &format!("{path}.probe"), sink);
        }
        if all.texts("inside").iter().any(|inside| inside == interface) {
            let trouble = Trouble::new(format!("{interface} is `inside` and an uplink"))
                .expected("either: what comes in by an uplink is not shared among uplinks");
            sink.error(uplink.place_of("interface"), &format!("{path}.interface"), trouble);
        }
    }
    let idle = uplinks.iter().filter(|one| one.count::<u16>("weight") == Some(0)).count();
    if !uplinks.is_empty() && idle == uplinks.len() {
        let trouble = Trouble::new("every uplink has the weight 0, so none takes connections");
        let trouble = trouble.expected("a weight above 0 for one uplink at least");
        sink.error(uplinks[0].place_of("weight"), "uplink", trouble);
    }
    if uplinks.is_empty() && all.wrote("inside") {
        let trouble = Trouble::new("there is no uplink, so nothing is shared").found("nothing");
        let trouble = trouble.expected("a table `[uplink.NAME]`");
        sink.warning(all.place_of("inside"), "uplinks.inside", trouble);
    }
}

/// One address of each family, of some machine.
fn each(uplink: &Section, key: &str, path: &str, sink: &mut Sink<'_, '_>) {
    let all = uplink.addresses(key);
    let v6 = all.iter().filter(|ip| ip.is_ipv6()).count();
    let mut wrong = |trouble: Trouble| {
        sink.error(uplink.place_of(key), &format!("{path}.{key}"), trouble);
    };
    if v6 > 1 || all.len() - v6 > 1 {
        wrong(Trouble::new("too many addresses of a family").expected("one of each family"));
    }
    if let Some(ip) = all.iter().find(|ip| unfit(ip)) {
        wrong(Trouble::new(format!("{ip} is no address of a machine in a network")));
    }
}

fn unfit(ip: &IpAddr) -> bool {
    ip.is_loopback() || ip.is_multicast() || ip.is_unspecified()
}

fn targets((probe, place): (&Section, Place), via: &[IpAddr], path: &str, sink: &mut Sink<'_, '_>) {
    let slot = probe.setting("connect").map(|setting| &setting.slot);
    if matches!(slot, Some(Slot::Value(Value::Spans(_)))) {
        let trouble = Trouble::new("a target has one port").expected("an address and a port");
        return sink.error(probe.place_of("connect"), &format!("{path}.connect"), trouble);
    }
    let (echo, connect) = (probe.addresses("echo"), probe.sockets("connect"));
    if echo.len() + connect.len() > TARGETS {
        let trouble = Trouble::new("so many targets")
            .found((echo.len() + connect.len()).to_string())
            .expected(format!("at most {TARGETS}, of `echo` and `connect` together"));
        sink.error(probe.place, path, trouble);
    }
    let each = || {
        let echo = echo.iter().map(|ip| ("echo", *ip));
        echo.chain(connect.iter().map(|at| ("connect", at.ip())))
    };
    for (key, ip) in each() {
        let message = if unfit(&ip) {
            format!("{ip} is no target beyond a gateway")
        } else if !via.iter().any(|via| via.is_ipv6() == ip.is_ipv6()) {
            format!("{ip} is asked through no gateway of its family")
        } else {
            continue;
        };
        let trouble = Trouble::new(message).expected("an address beyond the gateway");
        sink.error(probe.place_of(key), &format!("{path}.{key}"), trouble);
    }
    for gateway in via {
        if !probe.broken("echo") && !each().any(|(_, ip)| ip.is_ipv6() == gateway.is_ipv6()) {
            let message = format!("only the gateway {gateway} is asked, not what lies beyond it");
            let trouble = Trouble::new(message).expected("targets in `echo` or `connect`");
            sink.warning(place, path, trouble);
        }
    }
}
