//! Checks the path of packets into the server and of responses out of it: reverse path filters, decapsulation, room for
//! outer headers.
//!
//! Sizes are of whole IP packets; a segment is what remains without IP and TCP headers.

use super::finding::{PreflightCheck, PreflightFinding};
use super::snapshot::{Encapsulation, InterfaceState, PreflightSnapshot, RouteEntry};

const STRICT: &str = "clients' packets come in by a link that the route back to them does not leave by, and are dropped";
const NOT_DECAPSULATED: &str = "nothing unpacks what the balancer sends";
const NO_ROOM: &str = "clients send segments as large as the server offers; with the outer headers they do not fit the path";

/// IP and TCP headers without options.
const HEADERS_V4: u32 = 20 + 20;
const HEADERS_V6: u32 = 40 + 20;

/// Links that would drop clients' packets for their source: strict ones that no default route uses.
pub fn check_reverse_path(snapshot: &PreflightSnapshot) -> Vec<PreflightFinding> {
    let outward: Vec<&str> =
        default_routes(snapshot, true).map(|route| route.link.as_str()).collect();
    let check_link = |(name, link): (&String, &InterfaceState)| {
        let acting = link.settings.rp_filter.max(snapshot.all_settings.rp_filter);
        let found = format!("rp_filter {acting} on {name}");
        if acting != 1 || outward.contains(&name.as_str()) {
            return PreflightFinding::good(PreflightCheck::ReversePath, name, found);
        }
        let command = format!("sysctl -w net.ipv4.conf.{name}.rp_filter=2");
        PreflightFinding::wrong(PreflightCheck::ReversePath, name, found, STRICT, vec![command])
    };
    let links = snapshot.interfaces.iter().filter(|(_, link)| link.up && !link.loopback);
    links
        .filter(|(_, link)| link.addresses.iter().any(|a| a.ip.is_ipv4()))
        .map(check_link)
        .collect()
}

pub fn check_decapsulation(
    snapshot: &PreflightSnapshot,
    wanted: Encapsulation,
) -> PreflightFinding {
    let name = wanted.name();
    let takes =
        snapshot.decapsulators.iter().find(|decapsulator| decapsulator.takes.contains(&wanted));
    if let Some(decapsulator) = takes {
        let place = decapsulator.link.as_ref().map_or("every link".to_owned(), |link| link.clone());
        return PreflightFinding::good(
            PreflightCheck::Decapsulation,
            name,
            format!("unpacked on {place}"),
        );
    }
    let link = inbound_link(snapshot);
    let command = format!("steelyard decap load --interface {link} --from NETWORK");
    PreflightFinding::wrong(
        PreflightCheck::Decapsulation,
        name,
        "no decapsulator",
        NOT_DECAPSULATED,
        vec![command],
    )
}

/// Whether segments that clients send leave room for outer headers, on the routes of responses.
pub fn check_segment_size(
    snapshot: &PreflightSnapshot,
    wanted: Encapsulation,
    path_mtu: Option<u32>,
    v4: bool,
) -> Vec<PreflightFinding> {
    let headers = if v4 { HEADERS_V4 } else { HEADERS_V6 };
    let check_route = |route: &RouteEntry| {
        let link = snapshot.interfaces.get(&route.link);
        let mtu = path_mtu.unwrap_or_else(|| link.map_or(0, |link| link.mtu));
        // The larger outer header: whether the balancer uses IPv4 or IPv6 is not known here.
        let most = mtu.saturating_sub(wanted.overhead(true) + headers);
        let offered = link.map_or(0, |link| link.mtu).saturating_sub(headers);
        let offered = route.advmss.unwrap_or(offered);
        let whole = if v4 { "default" } else { "::/0" };
        let about = format!("{whole} by {}", route.link);
        let found = format!("segments of {offered} bytes are offered, {most} fit");
        if offered <= most {
            return PreflightFinding::good(PreflightCheck::SegmentSize, about, found);
        }
        let via = route.via.map(|via| format!("via {via} ")).unwrap_or_default();
        let command = format!("ip route change {whole} {via}dev {} advmss {most}", route.link);
        PreflightFinding::wrong(PreflightCheck::SegmentSize, about, found, NO_ROOM, vec![command])
    };
    default_routes(snapshot, v4).map(check_route).collect()
}

fn default_routes(snapshot: &PreflightSnapshot, v4: bool) -> impl Iterator<Item = &RouteEntry> {
    let same =
        move |route: &&RouteEntry| route.prefix == 0 && !route.local && route.to.is_ipv4() == v4;
    snapshot.routes.iter().filter(same)
}

/// The link that most likely receives packets from the balancer.
fn inbound_link(snapshot: &PreflightSnapshot) -> &str {
    let default = default_routes(snapshot, true).chain(default_routes(snapshot, false)).next();
    default.map_or("INTERFACE", |route| &route.link)
}
