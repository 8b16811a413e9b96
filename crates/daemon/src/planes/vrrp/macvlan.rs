//! The link that a group's addresses are on where they have the virtual router's link address, one of its own at the
//! interface (macvlan). Pure.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use l4::next_hops::NextHopLink;
use model::config::VrrpConfig;

/// Its name: short enough for the kernel, and the same for each process that has this group at this interface.
pub fn macvlan_name(group: &VrrpConfig, ifindex: u32) -> String {
    format!("vrrp{}-{}-{ifindex}", if group.is_ipv6() { 6 } else { 4 }, group.id)
}

/// The index of the parent interface.
pub fn parent_index(group: &VrrpConfig, links: &HashMap<u32, NextHopLink>) -> Option<u32> {
    number(&group.interface, links)
}

/// Its number, if it is there.
pub fn find_macvlan(
    group: &VrrpConfig,
    ifindex: u32,
    links: &HashMap<u32, NextHopLink>,
) -> Option<u32> {
    number(&macvlan_name(group, ifindex), links)
}

/// The virtual router's MAC address as the dead-man timer's gate stores it: behind ten zero bytes, which no IPv6 host
/// address has. After the lease ends no frame leaves with it.
pub fn gated_mac(group: &VrrpConfig) -> Option<IpAddr> {
    let [a, b, c, d, e, f] = group.virtual_mac()?;
    Some(Ipv6Addr::from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d, e, f]).into())
}

fn number(name: &str, links: &HashMap<u32, NextHopLink>) -> Option<u32> {
    links.iter().find(|(_, link)| link.name == name).map(|(ifindex, _)| *ifindex)
}
