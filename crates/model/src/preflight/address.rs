//! Is the service's address the server's own, where nobody asks for it by ARP?
//!
//! Routes that come with a wide subnet are judged elsewhere.

use std::net::IpAddr;

use super::finding::{Check, Finding};
use super::picture::{Address, Link, Picture};

/// Why an address on a link that takes part in ARP is wrong.
const ANSWERS: &str =
    "the server would answer for the address in its own network and take it from the balancer";
const ABSENT: &str =
    "packets for the service reach the server unchanged, and it drops what is not its own";
const DOWN: &str = "an address of a link that is down is not the server's";
const DOUBTED: &str =
    "the kernel does not use an address that another host may have; on a server others do have it";

/// Of one service.
pub fn check(picture: &Picture, service: IpAddr) -> Vec<Finding> {
    let places = places(picture, service);
    if places.is_empty() {
        return vec![wrong(service, "on no link".to_owned(), ABSENT, vec![add(service)])];
    }
    places.into_iter().map(|(name, link, address)| judge(service, name, link, address)).collect()
}

fn places(picture: &Picture, service: IpAddr) -> Vec<(&str, &Link, &Address)> {
    let links = picture.links.iter();
    let all = links.flat_map(|(name, link)| {
        link.addresses.iter().map(move |address| (name.as_str(), link, address))
    });
    all.filter(|(_, _, address)| address.ip == service).collect()
}

fn judge(service: IpAddr, name: &str, link: &Link, address: &Address) -> Finding {
    let found = format!("{service}/{} on {name}", address.prefix);
    let delete = format!("ip addr del {service}/{} dev {name}", address.prefix);
    if !link.loopback && link.arp {
        return wrong(service, found, ANSWERS, vec![delete, add(service)]);
    }
    if !link.up {
        return wrong(
            service,
            found + ", which is down",
            DOWN,
            vec![format!("ip link set {name} up")],
        );
    }
    if address.doubted {
        return wrong(service, found + ", not usable", DOUBTED, vec![delete, add(service)]);
    }
    Finding::good(Check::ServiceAddress, service, found)
}

fn wrong(service: IpAddr, found: String, why: &str, commands: Vec<String>) -> Finding {
    Finding::wrong(Check::ServiceAddress, service, found, why, commands)
}

/// The command that gives the address.
fn add(service: IpAddr) -> String {
    if service.is_ipv4() {
        format!("ip addr add {service}/32 dev lo")
    } else {
        format!("ip addr add {service}/128 dev lo nodad")
    }
}
