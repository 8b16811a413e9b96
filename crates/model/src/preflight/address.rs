//! Checks that the service's address is assigned to the server, on a link that does not answer ARP.
//!
//! Routes that come with a wide subnet are checked in `preflight/routes.rs`.

use std::net::IpAddr;

use super::finding::{PreflightCheck, PreflightFinding};
use super::snapshot::{InterfaceIp, InterfaceState, PreflightSnapshot};

/// Why an address on a link that takes part in ARP is wrong.
const ANSWERS: &str =
    "the server would answer for the address in its own network and take it from the balancer";
const ABSENT: &str =
    "packets for the service reach the server unchanged, and it drops what is not its own";
const DOWN: &str = "an address of a link that is down is not the server's";
const DOUBTED: &str =
    "the kernel does not use an address that another host may have; on a server others do have it";

pub fn check_service_address(
    snapshot: &PreflightSnapshot,
    service: IpAddr,
) -> Vec<PreflightFinding> {
    let places = addresses_of(snapshot, service);
    if places.is_empty() {
        return vec![address_finding(
            service,
            "on no link".to_owned(),
            ABSENT,
            vec![add_address_command(service)],
        )];
    }
    places
        .into_iter()
        .map(|(name, link, address)| check_address(service, name, link, address))
        .collect()
}

fn addresses_of(
    snapshot: &PreflightSnapshot,
    service: IpAddr,
) -> Vec<(&str, &InterfaceState, &InterfaceIp)> {
    let links = snapshot.interfaces.iter();
    let all = links.flat_map(|(name, link)| {
        link.addresses.iter().map(move |address| (name.as_str(), link, address))
    });
    all.filter(|(_, _, address)| address.ip == service).collect()
}

fn check_address(
    service: IpAddr,
    name: &str,
    link: &InterfaceState,
    address: &InterfaceIp,
) -> PreflightFinding {
    let found = format!("{service}/{} on {name}", address.prefix);
    let delete = format!("ip addr del {service}/{} dev {name}", address.prefix);
    if !link.loopback && link.arp {
        return address_finding(
            service,
            found,
            ANSWERS,
            vec![delete, add_address_command(service)],
        );
    }
    if !link.up {
        return address_finding(
            service,
            found + ", which is down",
            DOWN,
            vec![format!("ip link set {name} up")],
        );
    }
    if address.duplicate_suspected {
        return address_finding(
            service,
            found + ", not usable",
            DOUBTED,
            vec![delete, add_address_command(service)],
        );
    }
    PreflightFinding::good(PreflightCheck::ServiceAddress, service, found)
}

fn address_finding(
    service: IpAddr,
    found: String,
    why: &str,
    commands: Vec<String>,
) -> PreflightFinding {
    PreflightFinding::wrong(PreflightCheck::ServiceAddress, service, found, why, commands)
}

/// The command that assigns the address.
fn add_address_command(service: IpAddr) -> String {
    if service.is_ipv4() {
        format!("ip addr add {service}/32 dev lo")
    } else {
        format!("ip addr add {service}/128 dev lo nodad")
    }
}
