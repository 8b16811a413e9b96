//! Which interfaces packets are taken from. Pure.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use l4::next_hops::{NextHopLink, NextHopTable, ServerRoute};
use model::config::Config;

use super::netlink::AssignedAddress;

/// The names of the interfaces to attach to: the configured interfaces, or those with services' and return addresses
/// and those that reach servers. A shared address counts at its group's interface, on every member. If a service's
/// address is on no interface, as with routed addresses, every interface with an address is used.
pub fn wanted_interfaces(
    config: &Config,
    links: &HashMap<u32, NextHopLink>,
    addresses: &[AssignedAddress],
    hops: &NextHopTable,
    returns: &BTreeSet<IpAddr>,
) -> BTreeSet<String> {
    if let Some(named) = &config.packets.interfaces {
        return named.iter().cloned().collect();
    }
    let ethernet = |ifindex: u32| links.get(&ifindex).filter(|link| link.address.is_some());
    let at = |ip: IpAddr| {
        let mut moves = config.vrrp.values().flat_map(|group| group.floating_addresses());
        if let Some((_, name)) = moves.find(|(moved, _)| *moved == ip) {
            return vec![name.to_owned()];
        }
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
        if let Some(ServerRoute::Via { ifindex, .. }) = hops.route(server) {
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

/// Sources of ICMP errors that are sent out of an interface, as 16 bytes each; zero: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpSources {
    pub v4: [u8; 16],
    pub v6: [u8; 16],
}

/// An address of each family for ICMP errors that are sent out of an interface.
pub fn own_addresses(ifindex: u32, addresses: &[AssignedAddress]) -> IcmpSources {
    let mapped = |ip: IpAddr| l4::plan::encoding::to_mapped_bytes(ip);
    let mut of = addresses.iter().filter(|one| one.ifindex == ifindex).map(|one| one.ip);
    let v4 = of.clone().find(IpAddr::is_ipv4).map(mapped).unwrap_or_default();
    let global = |ip: &IpAddr| matches!(ip, IpAddr::V6(v6) if !v6.is_unicast_link_local());
    IcmpSources { v4, v6: of.find(global).map(mapped).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_address_is_where_its_group_is_whoever_has_it() {
        let text = "[service.a]\nlisten = \"192.0.2.10:80\"\nforward = \"mac\"\npool = \"web\"\n\
                    [pool.web]\nservers = [\"10.0.0.9:80\"]\n\
                    [vrrp.a]\ninterface = \"eth0\"\nid = 1\naddresses = \"192.0.2.10\"\n";
        let config = model::config::load(text, "test.toml").unwrap().config;
        let link = |name: &str| NextHopLink {
            name: name.to_owned(),
            address: Some([2; 6]),
            mtu: 1500,
            up: true,
        };
        let links = HashMap::from([(3, link("eth0")), (4, link("eth1")), (9, link("vrrp4-1-3"))]);
        let own = |ifindex, last| AssignedAddress { ifindex, ip: [192, 0, 2, last].into() };
        let of = |addresses: &[AssignedAddress]| {
            wanted_interfaces(
                &config,
                &links,
                addresses,
                &NextHopTable::default(),
                &BTreeSet::new(),
            )
        };
        let only = BTreeSet::from(["eth0".to_owned()]);
        assert_eq!(of(&[own(3, 1), own(4, 2)]), only, "it is another member's");
        assert_eq!(of(&[own(3, 1), own(4, 2), own(9, 10)]), only, "it is on a link of its own");
    }
}
