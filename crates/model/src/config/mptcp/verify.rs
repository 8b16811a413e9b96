//! Verifies settings of Multipath TCP.

use std::collections::HashSet;

use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::suggestion::nearest_match;

pub fn verify_mptcp(
    effective: &EffectiveSettings,
    whole: bool,
    sink: &mut FindingCollector<'_, '_>,
) {
    let mptcp = &effective.mptcp;
    if let Some(name) = mptcp.text("bundle").filter(|_| whole)
        && !effective.links.iter().any(|bundle| bundle.name == name)
    {
        let known = effective.links.iter().map(|bundle| bundle.name.as_str());
        let trouble = FindingDetails::new(format!("there is no bundle `{name}`"))
            .with_expected("the NAME of a table `[link.NAME]`")
            .with_suggestion(nearest_match(name, known).map(|name| format!("\"{name}\"")));
        sink.error(mptcp.span_of("bundle"), "mptcp.bundle", trouble);
    }
    let of = |name| effective.links.iter().find(|bundle| bundle.name == name);
    let links = mptcp.text("bundle").and_then(of).map_or(&[][..], |bundle| bundle.list("links"));
    if links.iter().any(|link| link.text("interface").is_none()) {
        let trouble = FindingDetails::new("a link of the bundle names no interface")
            .with_expected("`interface` for each of its links, whose addresses are the endpoints");
        sink.error(mptcp.span_of("bundle"), "mptcp.bundle", trouble);
    }
    let mut seen = HashSet::new();
    for (at, endpoint) in mptcp.list("endpoints").iter().enumerate() {
        verify_endpoint_address(
            endpoint,
            &format!("mptcp.endpoints[{at}].address"),
            &mut seen,
            sink,
        );
    }
}

fn verify_endpoint_address(
    endpoint: &ConfigSection,
    path: &str,
    seen: &mut HashSet<std::net::IpAddr>,
    sink: &mut FindingCollector<'_, '_>,
) {
    let all = endpoint.addresses("address");
    let trouble = match all {
        [] => return,
        [ip] if ip.is_loopback() || ip.is_multicast() || ip.is_unspecified() => {
            FindingDetails::new(format!("{ip} is no address by which a path leads"))
        }
        [ip] if !seen.insert(*ip) => FindingDetails::new(format!("{ip} is an endpoint already")),
        [_] => return,
        _ => FindingDetails::new("an endpoint is one address")
            .with_expected("a table for each address"),
    };
    sink.error(endpoint.span_of("address"), path, trouble);
}
