//! Verifies uplinks: invalid uplinks, and settings that two uplinks cannot share.

use std::collections::HashMap;
use std::net::IpAddr;

use super::keys::TARGETS;
use crate::config::decode::key_path::quote_key;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::{ConfigSection, ContentView};
use crate::config::source_text::SourceSpan;
use crate::config::value::ConfigValue;

pub fn verify_uplink(
    uplinks: &[ConfigSection],
    all: &ConfigSection,
    sink: &mut FindingCollector<'_, '_>,
) {
    let mut gateways: HashMap<(&str, IpAddr), &str> = HashMap::new();
    let mut sources: HashMap<IpAddr, &str> = HashMap::new();
    for uplink in uplinks {
        let path = format!("uplink.{}", quote_key(&uplink.name));
        let interface = uplink.text("interface").unwrap_or_default();
        let via = uplink.addresses("via");
        verify_one_per_family(uplink, "via", &path, sink);
        verify_one_per_family(uplink, "source", &path, sink);
        for ip in via {
            if let Some(other) = gateways.insert((interface, *ip), &uplink.name) {
                let message = format!("{ip} at {interface} is the gateway of `{other}` already");
                let trouble = FindingDetails::new(message)
                    .with_expected("a gateway of its own for each uplink");
                sink.error(uplink.span_of("via"), &format!("{path}.via"), trouble);
            }
        }
        for ip in uplink.addresses("source") {
            let at = (uplink.span_of("source"), format!("{path}.source"));
            if let Some(other) = sources.insert(*ip, &uplink.name) {
                let trouble =
                    FindingDetails::new(format!("{ip} is the source of `{other}` already"))
                        .with_expected("an address of its own: by it packets find their uplink");
                sink.error(at.0, &at.1, trouble);
            } else if !via.iter().any(|via| via.is_ipv6() == ip.is_ipv6()) {
                let trouble = FindingDetails::new(format!("{ip} has no gateway of its family"));
                sink.error(at.0, &at.1, trouble.with_expected("a gateway for each source"));
            }
        }
        if let Some(probe) = uplink.table("probe") {
            // If the setting is not written, the finding points to the uplink.
            let place = uplink.span_of("probe");
            verify_targets(probe, place, via, &format!("{path}.probe"), sink);
        }
        if all.texts("inside").iter().any(|inside| inside == interface) {
            let trouble = FindingDetails::new(format!("{interface} is `inside` and an uplink"))
                .with_expected("either: what comes in by an uplink is not shared among uplinks");
            sink.error(uplink.span_of("interface"), &format!("{path}.interface"), trouble);
        }
    }
    let idle = uplinks.iter().filter(|one| one.count::<u16>("weight") == Some(0)).count();
    if !uplinks.is_empty() && idle == uplinks.len() {
        let trouble =
            FindingDetails::new("every uplink has the weight 0, so none takes connections");
        let trouble = trouble.with_expected("a weight above 0 for one uplink at least");
        sink.error(uplinks[0].span_of("weight"), "uplink", trouble);
    }
    if uplinks.is_empty() && all.is_written("inside") {
        let trouble =
            FindingDetails::new("there is no uplink, so nothing is shared").with_found("nothing");
        let trouble = trouble.with_expected("a table `[uplink.NAME]`");
        sink.warning(all.span_of("inside"), "uplinks.inside", trouble);
    }
}

/// Requires at most one unicast address of each family.
fn verify_one_per_family(
    uplink: &ConfigSection,
    key: &str,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let all = uplink.addresses(key);
    let v6 = all.iter().filter(|ip| ip.is_ipv6()).count();
    let mut wrong = |trouble: FindingDetails| {
        sink.error(uplink.span_of(key), &format!("{path}.{key}"), trouble);
    };
    if v6 > 1 || all.len() - v6 > 1 {
        wrong(
            FindingDetails::new("too many addresses of a family")
                .with_expected("one of each family"),
        );
    }
    if let Some(ip) = all.iter().find(|ip| is_unusable_address(ip)) {
        wrong(FindingDetails::new(format!("{ip} is no address of a machine in a network")));
    }
}

fn is_unusable_address(ip: &IpAddr) -> bool {
    ip.is_loopback() || ip.is_multicast() || ip.is_unspecified()
}

fn verify_targets(
    probe: &ConfigSection,
    place: SourceSpan,
    via: &[IpAddr],
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let slot = probe.setting("connect").map(|setting| setting.content);
    if matches!(slot, Some(ContentView::Value(ConfigValue::ListenRanges(_)))) {
        let trouble =
            FindingDetails::new("a target has one port").with_expected("an address and a port");
        return sink.error(probe.span_of("connect"), &format!("{path}.connect"), trouble);
    }
    let echo = probe.addresses("echo");
    let connect = probe.sockets("connect");
    if echo.len() + connect.len() > TARGETS {
        let trouble = FindingDetails::new("so many targets")
            .with_found((echo.len() + connect.len()).to_string())
            .with_expected(format!("at most {TARGETS}, of `echo` and `connect` together"));
        sink.error(probe.span, path, trouble);
    }
    let each = || {
        let echo = echo.iter().map(|ip| ("echo", *ip));
        echo.chain(connect.iter().map(|at| ("connect", at.ip())))
    };
    for (key, ip) in each() {
        let message = if is_unusable_address(&ip) {
            format!("{ip} is no target beyond a gateway")
        } else if !via.iter().any(|via| via.is_ipv6() == ip.is_ipv6()) {
            format!("{ip} is asked through no gateway of its family")
        } else {
            continue;
        };
        let trouble = FindingDetails::new(message).with_expected("an address beyond the gateway");
        sink.error(probe.span_of(key), &format!("{path}.{key}"), trouble);
    }
    for gateway in via {
        if !probe.is_invalid("echo") && !each().any(|(_, ip)| ip.is_ipv6() == gateway.is_ipv6()) {
            let message = format!("only the gateway {gateway} is asked, not what lies beyond it");
            let trouble =
                FindingDetails::new(message).with_expected("targets in `echo` or `connect`");
            sink.warning(place, path, trouble);
        }
    }
}
