//! Checks that the server neither answers ARP requests for the service's address nor uses it as a sender.
//!
//! IPv6 needs no check: neighbour discovery answers only for addresses of the link that the request came on (RFC 4861
//! §7.2.3), and the address is on the loopback.

use super::finding::{PreflightCheck, PreflightFinding};
use super::snapshot::{InterfaceState, Ipv4Settings, PreflightSnapshot};

const ANSWERS: &str = "the server answers ARP for the service's address, and the router sends it packets past the balancer";
const ANNOUNCES: &str =
    "the server's own ARP questions carry the service's address, and neighbours learn it from them";

/// Checks every link that takes part in ARP.
pub fn check_arp(snapshot: &PreflightSnapshot) -> Vec<PreflightFinding> {
    let links =
        snapshot.interfaces.iter().filter(|(_, link)| link.up && link.arp && !link.loopback);
    let all = &snapshot.all_settings;
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
    // The larger of both settings acts, and here that is the link's own.
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
