//! What a group stands on: its interface, and our address there. Pure.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use l4::next_hops::NextHopLink;
use model::config::VrrpConfig;

use super::macvlan;
use crate::planes::packets::netlink::AssignedAddress;

/// Where an address is put that moves with a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPlacement {
    pub ip: IpAddr,
    /// The number of the interface, or of the group's own link at it.
    pub ifindex: u32,
    /// The interface by which neighbours learn of the address.
    pub port: u32,
    pub link: [u8; 6],
}

/// An interface as a group uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupInterface {
    pub ifindex: u32,
    pub link: [u8; 6],
    pub source: IpAddr,
    /// The group's own link, where its addresses have the virtual router's link address.
    pub macvlan: Option<u32>,
    pub placements: Vec<AddressPlacement>,
}

/// The interface of a group, or why it has none. `shared` are the addresses of all groups.
///
/// # Errors
/// A sentence for people.
pub fn group_interface(
    group: &VrrpConfig,
    links: &HashMap<u32, NextHopLink>,
    addresses: &[AssignedAddress],
    shared: &BTreeSet<IpAddr>,
) -> Result<GroupInterface, String> {
    let name = &group.interface;
    let (ifindex, link) = interface(name, links)?;
    let mut places = Vec::new();
    for (ip, name) in group.floating_addresses() {
        let (ifindex, link) = interface(name, links)?;
        places.push(AddressPlacement { ip, ifindex, port: ifindex, link });
    }
    let mut seat = None;
    if let Some(link) = group.virtual_mac() {
        let missing = || format!("there is no interface {}", macvlan::macvlan_name(group, ifindex));
        let own = macvlan::find_macvlan(group, ifindex, links).ok_or_else(missing)?;
        seat = Some(own);
        // Advertised addresses come first.
        for place in places.iter_mut().take(group.addresses.len()) {
            place.ifindex = own;
            place.link = link;
        }
    }
    let v6 = group.is_ipv6();
    let here = |one: &&AssignedAddress| one.ifindex == ifindex && one.ip.is_ipv6() == v6;
    let own = addresses.iter().filter(here).map(|one| one.ip).filter(|ip| !shared.contains(ip));
    let local = |ip: &IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    // Members on other networks cannot answer to an address of the link.
    let near = group.peers.iter().all(local);
    let source = match group.source {
        Some(wanted) => own.into_iter().find(|ip| *ip == wanted),
        None if v6 => own.into_iter().find(|ip| local(ip) == near),
        None => own.into_iter().next(),
    };
    let owner = || (group.priority == 255).then(|| group.addresses.first().copied()).flatten();
    let source = source.or_else(owner).ok_or_else(|| {
        let wanted = group.source.map_or_else(
            || format!("no {} address of its own", if v6 { "IPv6" } else { "IPv4" }),
            |ip| format!("no address {ip}"),
        );
        format!("{name} has {wanted}, which advertisements need")
    })?;
    Ok(GroupInterface { ifindex, link, source, macvlan: seat, placements: places })
}

/// The number and the link address of an interface that is up.
fn interface(name: &str, links: &HashMap<u32, NextHopLink>) -> Result<(u32, [u8; 6]), String> {
    let found = links.iter().find(|(_, link)| link.name == *name);
    let (ifindex, link) = found.ok_or_else(|| format!("there is no interface {name}"))?;
    let address = link.address.ok_or_else(|| format!("{name} is no link with addresses"))?;
    if !link.up {
        return Err(format!("the link of {name} is down"));
    }
    Ok((*ifindex, address))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::config::{CompanionAddresses, LinkAddressMode};

    use super::*;

    fn group(addresses: &[&str], peers: &[&str]) -> VrrpConfig {
        let parse = |list: &[&str]| list.iter().map(|ip| ip.parse().unwrap()).collect();
        VrrpConfig {
            name: "a".to_owned(),
            interface: "eth0".to_owned(),
            id: 1,
            addresses: parse(addresses),
            also: Vec::new(),
            version: 3,
            priority: 100,
            advertise: Duration::from_secs(1),
            preempt: true,
            preempt_delay: Duration::ZERO,
            peers: parse(peers),
            allow: Vec::new(),
            source: None,
            link_address: LinkAddressMode::Own,
            fencing_timeout: None,
            self_check: None,
            announce_every: None,
        }
    }

    fn links(up: bool) -> HashMap<u32, NextHopLink> {
        let link = NextHopLink { name: "eth0".to_owned(), address: Some([2; 6]), mtu: 1500, up };
        HashMap::from([(3, link)])
    }

    #[test]
    fn the_source_is_our_own_and_fits_those_who_are_spoken_to() {
        let ips = ["192.0.2.10", "192.0.2.1", "2001:db8::10", "2001:db8::1", "fe80::1"];
        let ips: Vec<IpAddr> = ips.iter().map(|ip| ip.parse().unwrap()).collect();
        let addresses: Vec<AssignedAddress> =
            ips.iter().map(|ip| AssignedAddress { ifindex: 3, ip: *ip }).collect();
        let shared = BTreeSet::from([ips[0], ips[2]]);
        let source = |group: &VrrpConfig| {
            group_interface(group, &links(true), &addresses, &shared).unwrap().source
        };
        assert_eq!(source(&group(&["192.0.2.10"], &[])), ips[1]);
        assert_eq!(source(&group(&["2001:db8::10"], &[])), ips[4]);
        assert_eq!(source(&group(&["2001:db8::10"], &["2001:db8::2"])), ips[3]);
        let other = VrrpConfig {
            source: Some("192.0.2.7".parse().unwrap()),
            ..group(&["192.0.2.10"], &[])
        };
        let why = group_interface(&other, &links(true), &addresses, &shared).unwrap_err();
        assert!(why.contains("no address 192.0.2.7"), "{why}");
    }

    #[test]
    fn what_moves_with_it_may_be_at_another_interface_which_must_be_up() {
        let more =
            |up| NextHopLink { name: "eth1".to_owned(), address: Some([4; 6]), mtu: 1500, up };
        let back: IpAddr = "10.0.0.9".parse().unwrap();
        let also = CompanionAddresses { addresses: vec![back], interface: "eth1".to_owned() };
        let group = VrrpConfig { also: vec![also], ..group(&["192.0.2.10"], &[]) };
        let own = [AssignedAddress { ifindex: 3, ip: "192.0.2.1".parse().unwrap() }];
        let of = |up| {
            let mut links = links(true);
            links.insert(4, more(up));
            group_interface(&group, &links, &own, &BTreeSet::new())
        };
        let places = of(true).unwrap().placements;
        let at: Vec<(IpAddr, u32)> = places.iter().map(|one| (one.ip, one.ifindex)).collect();
        assert_eq!(at, [("192.0.2.10".parse().unwrap(), 3), (back, 4)]);
        assert_eq!(of(false).unwrap_err(), "the link of eth1 is down");
    }

    #[test]
    fn the_virtual_routers_addresses_are_on_a_link_of_their_own() {
        let also = CompanionAddresses {
            addresses: vec![[192, 0, 2, 11].into()],
            interface: "eth0".to_owned(),
        };
        let link_address = LinkAddressMode::Virtual;
        let group = VrrpConfig { also: vec![also], link_address, ..group(&["192.0.2.10"], &[]) };
        let own = [AssignedAddress { ifindex: 3, ip: [192, 0, 2, 1].into() }];
        let of = |links| group_interface(&group, &links, &own, &BTreeSet::new());
        assert_eq!(of(links(true)).unwrap_err(), "there is no interface vrrp4-1-3");
        let mut both = links(true);
        let name = "vrrp4-1-3".to_owned();
        // It runs while the member is active.
        both.insert(
            9,
            NextHopLink { name, address: Some([0, 0, 0x5e, 0, 1, 1]), mtu: 1500, up: false },
        );
        let ground = of(both).unwrap();
        assert_eq!((ground.ifindex, ground.link, ground.macvlan), (3, [2; 6], Some(9)));
        let at: Vec<_> =
            ground.placements.iter().map(|one| (one.ifindex, one.port, one.link)).collect();
        assert_eq!(at, [(9, 3, [0, 0, 0x5e, 0, 1, 1]), (3, 3, [2; 6])]);
    }

    #[test]
    fn a_link_that_is_down_or_missing_is_reported() {
        let none = BTreeSet::new();
        let down =
            group_interface(&group(&["192.0.2.10"], &[]), &links(false), &[], &none).unwrap_err();
        assert_eq!(down, "the link of eth0 is down");
        let gone =
            group_interface(&group(&["192.0.2.10"], &[]), &HashMap::new(), &[], &none).unwrap_err();
        assert_eq!(gone, "there is no interface eth0");
    }
}
