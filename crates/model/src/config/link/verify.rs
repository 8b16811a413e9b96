//! Verifies link bundles: invalid bundles, and settings that two bundles cannot share.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::keys::{LINKS, NAME};
use crate::config::decode::key_path::quote_key;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::ip_prefix::IpPrefix;
use crate::config::section::ConfigSection;

pub fn verify_link(bundles: &[ConfigSection], sink: &mut FindingCollector<'_, '_>) {
    let mut interfaces: HashMap<&str, &str> = HashMap::new();
    let mut addresses: HashMap<IpAddr, &str> = HashMap::new();
    let mut routes: HashMap<IpPrefix, &str> = HashMap::new();
    for bundle in bundles {
        let path = format!("link.{}", quote_key(&bundle.name));
        verify_name(bundle, &path, sink);
        verify_links(bundle, bundles, &path, &mut interfaces, sink);
        verify_policy(bundle, &path, sink);
        for ip in bundle.addresses("addresses") {
            if let Some(other) = addresses.insert(*ip, &bundle.name) {
                let trouble = FindingDetails::new(format!("bundle `{other}` has {ip} already"));
                sink.error(bundle.span_of("addresses"), &format!("{path}.addresses"), trouble);
            }
        }
        for prefix in bundle.prefixes("routes") {
            if let Some(other) = routes.insert(*prefix, &bundle.name) {
                let trouble =
                    FindingDetails::new(format!("{prefix} goes over bundle `{other}` already"));
                sink.error(bundle.span_of("routes"), &format!("{path}.routes"), trouble);
            }
        }
    }
}

fn verify_name(bundle: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    if bundle.name.len() > NAME {
        let message = "the bundle's device has its name, which is too long for Linux";
        let trouble =
            FindingDetails::new(message).with_found(format!("{} bytes", bundle.name.len()));
        sink.error(bundle.span, path, trouble.with_expected(format!("at most {NAME}")));
    }
}

fn verify_links<'s>(
    bundle: &'s ConfigSection,
    bundles: &[ConfigSection],
    path: &str,
    interfaces: &mut HashMap<&'s str, &'s str>,
    sink: &mut FindingCollector<'_, '_>,
) {
    let links = bundle.list("links");
    let written = bundle.setting("links").is_some() && !bundle.is_invalid("links");
    if written && !(2..=LINKS).contains(&links.len()) {
        let message = if links.len() == 1 { "one link is no bundle" } else { "so many links" };
        let trouble = FindingDetails::new(message).with_found(links.len().to_string());
        let trouble = trouble.with_expected(format!("2 to {LINKS} links"));
        sink.error(bundle.span_of("links"), &format!("{path}.links"), trouble);
    }
    let mut hops = HashSet::new();
    for (at, link) in links.iter().enumerate() {
        let path = format!("{path}.links[{at}]");
        if let Some(interface) = link.text("interface") {
            if let Some(other) = interfaces.insert(interface, &bundle.name) {
                let trouble =
                    FindingDetails::new(format!("{interface} is a link of `{other}` already"))
                        .with_expected("an interface of its own for each link");
                sink.error(link.span_of("interface"), &format!("{path}.interface"), trouble);
            }
            if bundles.iter().any(|one| one.name == interface) {
                let trouble = FindingDetails::new(format!("{interface} is a bundle"))
                    .with_expected("an interface: bundles are not links of bundles");
                sink.error(link.span_of("interface"), &format!("{path}.interface"), trouble);
            }
        }
        verify_next_hops(link, &path, &mut hops, sink);
    }
    let with = links.iter().filter(|link| link.count::<u64>("capacity").is_some()).count();
    if with > 0 && with < links.len() {
        let trouble = FindingDetails::new("some links have a capacity and some have none")
            .with_found(format!("{with} of {}", links.len()))
            .with_expected("`capacity` for all links of a bundle, or for none");
        sink.error(bundle.span_of("links"), &format!("{path}.links"), trouble);
    }
}

fn verify_next_hops<'s>(
    link: &'s ConfigSection,
    path: &str,
    hops: &mut HashSet<(Option<&'s str>, IpAddr)>,
    sink: &mut FindingCollector<'_, '_>,
) {
    let via = link.addresses("via");
    let v6 = via.iter().filter(|ip| ip.is_ipv6()).count();
    let mut wrong = |trouble: FindingDetails| {
        sink.error(link.span_of("via"), &format!("{path}.via"), trouble);
    };
    if v6 > 1 || via.len() - v6 > 1 {
        wrong(
            FindingDetails::new("a link has one far end")
                .with_expected("one next hop of each family"),
        );
    }
    let unfit = |ip: &&IpAddr| ip.is_loopback() || ip.is_multicast() || ip.is_unspecified();
    if let Some(ip) = via.iter().find(unfit) {
        wrong(FindingDetails::new(format!("{ip} cannot be a next hop")));
    }
    for ip in via {
        if !hops.insert((link.text("interface"), *ip)) {
            wrong(FindingDetails::new(format!(
                "{ip} is the next hop of another link of the bundle"
            )));
        }
    }
    let local = |ip: &&IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    if let Some(ip) = via.iter().find(local)
        && link.text("interface").is_none()
    {
        let trouble = FindingDetails::new(format!("{ip} is reached by every interface"));
        wrong(trouble.with_expected("`interface`, which says by which"));
    }
}

fn verify_policy(bundle: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let policy = bundle.text("policy").unwrap_or_default();
    for (key, of) in [("gap", "flowlet"), ("equalise", "round-robin"), ("burst", "round-robin")] {
        if bundle.is_written(key) && policy != of {
            let trouble = FindingDetails::new(format!("`{key}` means nothing with `{policy}`"))
                .with_expected(format!("`policy = \"{of}\"`, or no `{key}`"));
            sink.error(bundle.span_of(key), &format!("{path}.{key}"), trouble);
        }
    }
}
