//! Judges bundles of links: what cannot be a bundle, and what two bundles cannot share.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::packets::Prefix;
use super::super::section::Section;
use super::super::tables::link::{LINKS, NAME};

/// Judge all of them.
pub fn verify(bundles: &[Section], sink: &mut Sink<'_, '_>) {
    let mut interfaces: HashMap<&str, &str> = HashMap::new();
    let mut addresses: HashMap<IpAddr, &str> = HashMap::new();
    let mut routes: HashMap<Prefix, &str> = HashMap::new();
    for bundle in bundles {
        let path = format!("link.{}", quoted(&bundle.name));
        name(bundle, &path, sink);
        links(bundle, bundles, &path, &mut interfaces, sink);
        policy(bundle, &path, sink);
        for ip in bundle.addresses("addresses") {
            if let Some(other) = addresses.insert(*ip, &bundle.name) {
                let trouble = Trouble::new(format!("bundle `{other}` has {ip} already"));
                sink.error(bundle.place_of("addresses"), &format!("{path}.addresses"), trouble);
            }
        }
        for prefix in bundle.prefixes("routes") {
            if let Some(other) = routes.insert(*prefix, &bundle.name) {
                let trouble = Trouble::new(format!("{prefix} goes over bundle `{other}` already"));
                sink.error(bundle.place_of("routes"), &format!("{path}.routes"), trouble);
            }
        }
    }
}

fn name(bundle: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    if bundle.name.len() > NAME {
        let message = "the bundle's device has its name, which is too long for Linux";
        let trouble = Trouble::new(message).found(format!("{} bytes", bundle.name.len()));
        sink.error(bundle.place, path, trouble.expected(format!("at most {NAME}")));
    }
}

fn links<'s>(
    bundle: &'s Section,
    bundles: &[Section],
    path: &str,
    interfaces: &mut HashMap<&'s str, &'s str>,
    sink: &mut Sink<'_, '_>,
) {
    let links = bundle.list("links");
    let written = bundle.setting("links").is_some() && !bundle.broken("links");
    if written && !(2..=LINKS).contains(&links.len()) {
        let message = if links.len() == 1 { "one link is no bundle" } else { "so many links" };
        let trouble = Trouble::new(message).found(links.len().to_string());
        let trouble = trouble.expected(format!("2 to {LINKS} links"));
        sink.error(bundle.place_of("links"), &format!("{path}.links"), trouble);
    }
    let mut hops = HashSet::new();
    for (at, link) in links.iter().enumerate() {
        let path = format!("{path}.links[{at}]");
        if let Some(interface) = link.text("interface") {
            if let Some(other) = interfaces.insert(interface, &bundle.name) {
                let trouble = Trouble::new(format!("{interface} is a link of `{other}` already"))
                    .expected("an interface of its own for each link");
                sink.error(link.place_of("interface"), &format!("{path}.interface"), trouble);
            }
            if bundles.iter().any(|one| one.name == interface) {
                let trouble = Trouble::new(format!("{interface} is a bundle"))
                    .expected("an interface: bundles are not links of bundles");
                sink.error(link.place_of("interface"), &format!("{path}.interface"), trouble);
            }
        }
        via(link, &path, &mut hops, sink);
    }
    let with = links.iter().filter(|link| link.count::<u64>("capacity").is_some()).count();
    if with > 0 && with < links.len() {
        let trouble = Trouble::new("some links have a capacity and some have none")
            .found(format!("{with} of {}", links.len()))
            .expected("`capacity` for all links of a bundle, or for none");
        sink.error(bundle.place_of("links"), &format!("{path}.links"), trouble);
    }
}

fn via<'s>(
    link: &'s Section,
    path: &str,
    hops: &mut HashSet<(Option<&'s str>, IpAddr)>,
    sink: &mut Sink<'_, '_>,
) {
    let via = link.addresses("via");
    let v6 = via.iter().filter(|ip| ip.is_ipv6()).count();
    let mut wrong = |trouble: Trouble| {
        sink.error(link.place_of("via"), &format!("{path}.via"), trouble);
    };
    if v6 > 1 || via.len() - v6 > 1 {
        wrong(Trouble::new("a link has one far end").expected("one next hop of each family"));
    }
    let unfit = |ip: &&IpAddr| ip.is_loopback() || ip.is_multicast() || ip.is_unspecified();
    if let Some(ip) = via.iter().find(unfit) {
        wrong(Trouble::new(format!("{ip} cannot be a next hop")));
    }
    for ip in via {
        if !hops.insert((link.text("interface"), *ip)) {
            wrong(Trouble::new(format!("{ip} is the next hop of another link of the bundle")));
        }
    }
    let local = |ip: &&IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    if let Some(ip) = via.iter().find(local)
        && link.text("interface").is_none()
    {
        let trouble = Trouble::new(format!("{ip} is reached by every interface"));
        wrong(trouble.expected("`interface`, which says by which"));
    }
}

fn policy(bundle: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let policy = bundle.text("policy").unwrap_or_default();
    for (key, of) in [("gap", "flowlet"), ("equalise", "round-robin"), ("burst", "round-robin")] {
        if bundle.wrote(key) && policy != of {
            let trouble = Trouble::new(format!("`{key}` means nothing with `{policy}`"))
                .expected(format!("`policy = \"{of}\"`, or no `{key}`"));
            sink.error(bundle.place_of(key), &format!("{path}.{key}"), trouble);
        }
    }
}
