//! Routes: none but the address' own may cover a service's address, and there must be a way back to clients.
//!
//! An alias with the mask of its network brings a route for the whole network with it: the server then takes
//! packets for its neighbours as its own.

use std::net::IpAddr;

use super::finding::{PreflightCheck, PreflightFinding};
use super::snapshot::{PreflightSnapshot, RouteEntry};

const COVERS_SERVICE: &str =
    "every address of that subnet, clients and servers among them, is taken for the server itself";
const LEAVES_SERVER: &str =
    "answers to the service's own subnet would leave through the loopback and be lost";
const NO_RETURN_ROUTE: &str = "the server answers clients directly and has no route to them";

/// Routes that cover the service beyond its own address.
pub fn check_extra_routes(picture: &PreflightSnapshot, service: IpAddr) -> Vec<PreflightFinding> {
    let full = if service.is_ipv4() { 32 } else { 128 };
    let on_loopback = |route: &&RouteEntry| {
        picture.interfaces.get(&route.link).is_some_and(|link| link.loopback || !link.arp)
    };
    let covering = picture.routes.iter().filter(|route| route.covers(service));
    let wide = covering.filter(|route| route.prefix > 0 && route.prefix < full);
    let found: Vec<PreflightFinding> = wide
        .filter(on_loopback)
        .map(|route| extra_route_finding(picture, service, route))
        .collect();
    if found.is_empty() {
        return vec![PreflightFinding::good(
            PreflightCheck::ExtraRoute,
            service,
            "no route but its own covers it",
        )];
    }
    found
}

fn extra_route_finding(
    picture: &PreflightSnapshot,
    service: IpAddr,
    route: &RouteEntry,
) -> PreflightFinding {
    let RouteEntry { to, prefix, link, table, local, .. } = route;
    let found = format!("{to}/{prefix} by {link} in table {table}");
    let kind = if *local { "local " } else { "" };
    let by_hand = format!("ip route del {kind}{to}/{prefix} dev {link} table {table}");
    let links = picture.interfaces.get(link);
    let addresses = links.into_iter().flat_map(|link| &link.addresses);
    // The route came with an address; with that it goes.
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

/// A way back to clients of the service's version.
pub fn check_return_route(
    picture: &PreflightSnapshot,
    service: IpAddr,
) -> Option<PreflightFinding> {
    let same = |route: &&RouteEntry| route.to.is_ipv4() == service.is_ipv4();
    let usable = |route: &&RouteEntry| {
        !route.local
            && route.table != "local"
            && picture.interfaces.get(&route.link).is_some_and(|l| l.up)
    };
    let mut routes = picture.routes.iter().filter(same).filter(usable);
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
