//! The path of packets into the server and of answers out of it: source checks, unpacking, room for outer headers.
//!
//! Sizes are of whole IP packets; a segment is what remains without IP and TCP headers.

use super::finding::{Check, Finding};
use super::picture::{Encapsulation, Link, Picture, Route};

const STRICT: &str = "clients' packets come in by a link that the route back to them does not leave by, and are dropped";
const PACKED: &str = "nothing unpacks what the balancer sends";
const NO_ROOM: &str = "clients send segments as large as the server offers; with the outer headers they do not fit the path";

/// IP and TCP headers without options.
const HEADERS_V4: u32 = 20 + 20;
const HEADERS_V6: u32 = 40 + 20;

/// Links that would drop clients' packets for their source: strict ones that no default route leaves by.
pub fn reverse(picture: &Picture) -> Vec<Finding> {
    let outward: Vec<&str> = defaults(picture, true).map(|route| route.link.as_str()).collect();
    let judged = |(name, link): (&String, &Link)| {
        let acting = link.settings.rp_filter.max(picture.all.rp_filter);
        let found = format!("rp_filter {acting} on {name}");
        if acting != 1 || outward.contains(&name.as_str()) {
            return Finding::good(Check::ReversePath, name, found);
        }
        let command = format!("sysctl -w net.ipv4.conf.{name}.rp_filter=2");
        Finding::wrong(Check::ReversePath, name, found, STRICT, vec![command])
    };
    let links = picture.links.iter().filter(|(_, link)| link.up && !link.loopback);
    links.filter(|(_, link)| link.addresses.iter().any(|a| a.ip.is_ipv4())).map(judged).collect()
}

/// Something that unpacks.
pub fn decapsulated(picture: &Picture, wanted: Encapsulation) -> Finding {
    let name = wanted.name();
    let takes = picture.decapsulators.iter().find(|one| one.takes.contains(&wanted));
    if let Some(found) = takes {
        let place = found.link.as_ref().map_or("every link".to_owned(), |link| link.clone());
        return Finding::good(Check::Decapsulation, name, format!("unpacked on {place}"));
    }
    let link = inward(picture);
    let command = format!("steelyard decap load --interface {link} --from NETWORK");
    Finding::wrong(Check::Decapsulation, name, "no decapsulator", PACKED, vec![command])
}

/// Whether segments that clients send leave room; of the routes that answers take.
pub fn segments(
    picture: &Picture,
    wanted: Encapsulation,
    path_mtu: Option<u32>,
    v4: bool,
) -> Vec<Finding> {
    let headers = if v4 { HEADERS_V4 } else { HEADERS_V6 };
    let judged = |route: &Route| {
        let link = picture.links.get(&route.link);
        let mtu = path_mtu.unwrap_or_else(|| link.map_or(0, |link| link.mtu));
        // The larger outer header: which of both the balancer uses is not known here.
        let most = mtu.saturating_sub(wanted.overhead(true) + headers);
        let offered = link.map_or(0, |link| link.mtu).saturating_sub(headers);
        let offered = route.advmss.unwrap_or(offered);
        let whole = if v4 { "default" } else { "::/0" };
        let about = format!("{whole} by {}", route.link);
        let found = format!("segments of {offered} bytes are offered, {most} fit");
        if offered <= most {
            return Finding::good(Check::SegmentSize, about, found);
        }
        let via = route.via.map(|via| format!("via {via} ")).unwrap_or_default();
        let command = format!("ip route change {whole} {via}dev {} advmss {most}", route.link);
        Finding::wrong(Check::SegmentSize, about, found, NO_ROOM, vec![command])
    };
    defaults(picture, v4).map(judged).collect()
}

fn defaults(picture: &Picture, v4: bool) -> impl Iterator<Item = &Route> {
    let same = move |route: &&Route| route.prefix == 0 && !route.local && route.to.is_ipv4() == v4;
    picture.routes.iter().filter(same)
}

/// The link that packets from the balancer most likely come in by.
fn inward(picture: &Picture) -> &str {
    let default = defaults(picture, true).chain(defaults(picture, false)).next();
    default.map_or("INTERFACE", |route| &route.link)
}
