//! Does the server keep silent about the service's address when neighbours ask by ARP, and when it asks itself?
//!
//! Version 6 needs nothing: neighbour discovery answers only for addresses of the link that is asked on (RFC 4861
//! §7.2.3), and the address is on the loopback.

use super::finding::{Check, Finding};
use super::picture::{Link, Picture, Settings};

const ANSWERS: &str = "the server answers ARP for the service's address, and the router sends it packets past the balancer";
const TELLS: &str =
    "the server's own ARP questions carry the service's address, and neighbours learn it from them";

/// Of every link that takes part in ARP.
pub fn check(picture: &Picture) -> Vec<Finding> {
    let links = picture.links.iter().filter(|(_, link)| link.up && link.arp && !link.loopback);
    let all = &picture.all;
    links.flat_map(|(name, link)| [ignores(name, link, all), announces(name, link, all)]).collect()
}

fn ignores(name: &str, link: &Link, all: &Settings) -> Finding {
    let acting = link.settings.arp_ignore.max(all.arp_ignore);
    let found = format!("arp_ignore {acting} on {name}");
    // 3 would need the address to have the scope of the host (ip-sysctl).
    if matches!(acting, 1 | 2 | 8) {
        return Finding::good(Check::ArpIgnore, name, found);
    }
    let commands = vec!["sysctl -w net.ipv4.conf.all.arp_ignore=1".to_owned()];
    // Of the two the larger acts, and it is this link's own.
    let own = (link.settings.arp_ignore > 2)
        .then(|| format!("sysctl -w net.ipv4.conf.{name}.arp_ignore=1"));
    let commands = commands.into_iter().chain(own).collect();
    Finding::wrong(Check::ArpIgnore, name, found, ANSWERS, commands)
}

fn announces(name: &str, link: &Link, all: &Settings) -> Finding {
    let acting = link.settings.arp_announce.max(all.arp_announce);
    let found = format!("arp_announce {acting} on {name}");
    if acting >= 2 {
        return Finding::good(Check::ArpAnnounce, name, found);
    }
    let commands = vec!["sysctl -w net.ipv4.conf.all.arp_announce=2".to_owned()];
    Finding::wrong(Check::ArpAnnounce, name, found, TELLS, commands)
}
