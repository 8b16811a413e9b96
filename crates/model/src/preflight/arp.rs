//! Does the server keep silent about the service's address when neighbours ask by ARP, and when it asks itself?
//!
//! Version 6 needs nothing: neighbour discovery answers only for addresses of the link that is asked on (RFC 4861
//! §7.2.3), and the address is on the loopback.

use super::finding::{PreflightCheck, PreflightFinding};
use super::snapshot::{InterfaceState, Ipv4Settings, PreflightSnapshot};

const ANSWERS: &str = "the server answers ARP for the service's address, and the router sends it packets past the balancer";
const ANNOUNCES: &str =
    "the server's own ARP questions carry the service's address, and neighbours learn it from them";

/// Of every link that takes part in ARP.
pub fn check_arp(picture: &PreflightSnapshot) -> Vec<PreflightFinding> {
    let links = picture.interfaces.iter().filter(|(_, link)| link.up && link.arp && !link.loopback);
    let all = &picture.all_settings;
    links
        .flat_map(|(name, link)| {
            [check_arp_ignore(name, link, all), check_arp_announce(name, link, all)]
        })
        .collect()
}

fn check_arp_ignore(name: &str, link: &InterfaceState, all: &Ipv4Settings) -> PreflightFinding {
    let acting = link.settings.arp_ignore.max(all.arp_ignore);
    let found = format!("arp_ignore {acting} on {name}");
    // 3 would need the address to have the scope of the host (ip-sysctl).
    if matches!(acting, 1 | 2 | 8) {
        return PreflightFinding::good(PreflightCheck::ArpIgnore, name, found);
    }
    let commands = vec!["sysctl -w net.ipv4.conf.all.arp_ignore=1".to_owned()];
    // Of the two the larger acts, and it is this link's own.
    let own = (link.settings.arp_ignore > 2)
        .then(|| format!("sysctl -w net.ipv4.conf.{name}.arp_ignore=1"));
    let commands = commands.into_iter().chain(own).collect();
    PreflightFinding::wrong(PreflightCheck::ArpIgnore, name, found, ANSWERS, commands)
}

fn check_arp_announce(name: &str, link: &InterfaceState, all: &Ipv4Settings) -> PreflightFinding {
    let acting = link.settings.arp_announce.max(all.arp_announce);
    let found = format!("arp_announce {acting} on {name}");
    if acting >= 2 {
        return PreflightFinding::good(PreflightCheck::ArpAnnounce, name, found);
    }
    let commands = vec!["sysctl -w net.ipv4.conf.all.arp_announce=2".to_owned()];
    PreflightFinding::wrong(PreflightCheck::ArpAnnounce, name, found, ANNOUNCES, commands)
}
