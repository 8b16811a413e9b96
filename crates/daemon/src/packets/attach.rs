//! Which interfaces packets are taken from. Pure.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use l4::hops::{Hops, Link, Route};
use model::config::Config;

use super::netlink::Address;

/// The names of the interfaces to attach to: those configured; else where services' and return addresses are and where
/// servers are reached. When a service's address is nowhere, as with routed ones, every interface with an address.
pub fn interfaces(
    config: &Config,
    links: &HashMap<u32, Link>,
    addresses: &[Address],
    hops: &Hops,
    returns: &BTreeSet<IpAddr>,
) -> BTreeSet<String> {
    if let Some(named) = &config.packets.interfaces {
        return named.iter().cloned().collect();
    }
    let ethernet = |ifindex: u32| links.get(&ifindex).filter(|link| link.address.is_some());
    let at = |ip: IpAddr| {
        let found = addresses.iter().filter(move |one| one.ip == ip);
        found
            .filter_map(|one| ethernet(one.ifindex))
            .map(|link| link.name.clone())
            .collect::<Vec<_>>()
    };
    let mut names: BTreeSet<String> = returns.iter().flat_map(|ip| at(*ip)).collect();
    let mut nowhere = false;
    let services = config.services.values().filter_map(|service| service.packets.as_ref());
    for span in services.flat_map(|packets| &packets.listen) {
        let found = at(span.address);
        nowhere |= found.is_empty();
        names.extend(found);
    }
    for server in hops.servers() {
        if let Some(Route::Via { ifindex, .. }) = hops.route(server) {
            names.extend(ethernet(*ifindex).map(|link| link.name.clone()));
        }
    }
    if nowhere {
        let global = addresses.iter().filter(|one| match one.ip {
            IpAddr::V4(v4) => !v4.is_link_local(),
            IpAddr::V6(v6) => !v6.is_unicast_link_local(),
        });
        names.extend(global.filter_map(|one| ethernet(one.ifindex)).map(|link| link.name.clone()));
    }
    names
}

/// An address of each family for ICMP errors that are sent out of an interface.
pub fn own(ifindex: u32, addresses: &[Address]) -> ([u8; 16], [u8; 16]) {
    let mapped = |ip: IpAddr| l4::plan::form::address(ip);
    let mut of = addresses.iter().filter(|one| one.ifindex == ifindex).map(|one| one.ip);
    let v4 = of.clone().find(IpAddr::is_ipv4).map(mapped).unwrap_or_default();
    let global = |ip: &IpAddr| matches!(ip, IpAddr::V6(v6) if !v6.is_unicast_link_local());
    (v4, of.find(global).map(mapped).unwrap_or_default())
}
