//! Judges what Multipath TCP is told.

use std::collections::HashSet;

use super::super::finding::{Sink, Trouble};
use super::super::resolve::Effective;
use super::super::section::Section;
use super::super::suggest::nearest;

/// Judge it.
pub fn verify(effective: &Effective, whole: bool, sink: &mut Sink<'_, '_>) {
    let mptcp = &effective.mptcp;
    if let Some(name) = mptcp.text("bundle").filter(|_| whole)
        && !effective.links.iter().any(|bundle| bundle.name == name)
    {
        let known = effective.links.iter().map(|bundle| bundle.name.as_str());
        let trouble = Trouble::new(format!("there is no bundle `{name}`"))
            .expected("the NAME of a table `[link.NAME]`")
            .suggest(nearest(name, known).map(|name| format!("\"{name}\"")));
        sink.error(mptcp.place_of("bundle"), "mptcp.bundle", trouble);
    }
    let of = |name| effective.links.iter().find(|bundle| bundle.name == name);
    let links = mptcp.text("bundle").and_then(of).map_or(&[][..], |bundle| bundle.list("links"));
    if links.iter().any(|link| link.text("interface").is_none()) {
        let trouble = Trouble::new("a link of the bundle names no interface")
            .expected("`interface` for each of its links, whose addresses are the endpoints");
        sink.error(mptcp.place_of("bundle"), "mptcp.bundle", trouble);
    }
    let mut seen = HashSet::new();
    for (at, endpoint) in mptcp.list("endpoints").iter().enumerate() {
        address(endpoint, &format!("mptcp.endpoints[{at}].address"), &mut seen, sink);
    }
}

fn address(
    endpoint: &Section,
    path: &str,
    seen: &mut HashSet<std::net::IpAddr>,
    sink: &mut Sink<'_, '_>,
) {
    let all = endpoint.addresses("address");
    let trouble = match all {
        [] => return,
        [ip] if ip.is_loopback() || ip.is_multicast() || ip.is_unspecified() => {
            Trouble::new(format!("{ip} is no address by which a path leads"))
        }
        [ip] if !seen.insert(*ip) => Trouble::new(format!("{ip} is an endpoint already")),
        [_] => return,
        _ => Trouble::new("an endpoint is one address").expected("a table for each address"),
    };
    sink.error(endpoint.place_of("address"), path, trouble);
}
