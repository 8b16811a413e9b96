//! Route checks: only the address's own route may cover a service's address, and there must be a route back to clients.
//!
//! An alias with the mask of its network adds a route for the whole network: the server then treats packets for its
//! neighbours as its own.

use std::net::IpAddr;

use super::finding::{PreflightCheck, PreflightFinding};
use super::snapshot::{PreflightSnapshot, RouteEntry};

const COVERS_SERVICE: &str =
    "every address of that subnet, clients and servers among them, is taken for the server itself";
const LEAVES_SERVER: &str =
    "answers to the service's own subnet would leave through the loopback and be lost";
const NO_RETURN_ROUTE: &str = "the server answers clients directly and has no route to them";

/// Routes that cover the service beyond its own address.
pub fn check_extra_routes(snapshot: &PreflightSnapshot, service: IpAddr) -> Vec<PreflightFinding> {
    let full = if service.is_ipv4() { 32 } else { 128 };
    let on_loopback = |route: &&RouteEntry| {
        snapshot.interfaces.get(&route.link).is_some_and(|link| link.loopback || !link.arp)
    };
    let covering = snapshot.routes.iter().filter(|route| route.covers(service));
    let wide = covering.filter(|route| route.prefix > 0 && route.prefix < full);
    let findings: Vec<PreflightFinding> = wide
        .filter(on_loopback)
        .map(|route| extra_route_finding(snapshot, service, route))
        .collect();
    if findings.is_empty() {
        return vec![PreflightFinding::good(
            PreflightCheck::ExtraRoute,
            service,
            "no route but its own covers it",
        )];
    }
    findings
}

fn extra_route_finding(
    snapshot: &PreflightSnapshot,
    service: IpAddr,
    route: &RouteEntry,
) -> PreflightFinding {
    let RouteEntry { to, prefix, link, table, local, .. } = route;
    let found = format!("{to}/{prefix} by {link} in table {table}");
    let kind = if *local { "local " } else { "" };
    let by_hand = format!("ip route del {kind}{to}/{prefix} dev {link} table {table}");
    let links = snapshot.interfaces.get(link);
    let addresses = links.into_iter().flat_map(|link| &link.addresses);
    // The route belongs to an address; removing the address removes the route.
    let source =
        addresses.into_iter().find(|address| address.prefix == *prefix && route.covers(address.ip));
    let commands = source.map_or_else(
        || vec![by_hand],
        |address| {
            let full = if address.ip.is_ipv4() { 32 } else { 128 };
            vec![
                format!("ip addr del {}/{} dev {link}", address.ip, address.prefix),
                format!("ip addr add {}/{full} dev {link}", address.ip),
            ]
        },
    );
    let why = if *local { COVERS_SERVICE } else { LEAVES_SERVER };
    PreflightFinding::wrong(PreflightCheck::ExtraRoute, service, found, why, commands)
}

/// The route back to clients, in the service's IP version.
pub fn check_return_route(
    snapshot: &PreflightSnapshot,
    service: IpAddr,
) -> Option<PreflightFinding> {
    let same = |route: &&RouteEntry| route.to.is_ipv4() == service.is_ipv4();
    let usable = |route: &&RouteEntry| {
        !route.local
            && route.table != "local"
            && snapshot.interfaces.get(&route.link).is_some_and(|l| l.up)
    };
    let mut routes = snapshot.routes.iter().filter(same).filter(usable);
    if let Some(default) = routes.find(|route| route.prefix == 0) {
        let via = default.via.map(|via| format!("via {via} ")).unwrap_or_default();
        let found = format!("default {via}by {}", default.link);
        return Some(PreflightFinding::good(PreflightCheck::ReturnRoute, service, found));
    }
    let whole = if service.is_ipv4() { "default" } else { "::/0" };
    let command = format!("ip route add {whole} via ROUTER");
    Some(PreflightFinding::wrong(
        PreflightCheck::ReturnRoute,
        service,
        "no default route",
        NO_RETURN_ROUTE,
        vec![command],
    ))
}
