//! Whether a server is ready for a forwarding method: its addresses, its silence about them, its routes.
//!
//! Checks over a picture of the machine that somebody else has taken; each says what was found, what was expected
//! and the exact commands that mend it. Nothing is read or changed here.

mod address;
mod arp;
mod finding;
mod reverse_path;
mod routes;
mod snapshot;

pub use finding::{PreflightCheck, PreflightFinding, PreflightResult};
pub use snapshot::{
    Decapsulator, Encapsulation, InterfaceIp, InterfaceState, Ipv4Settings, PreflightRequirements,
    PreflightSnapshot, RouteEntry,
};

/// Everything that can be said of this server, in the order in which one mends it.
pub fn check_server(
    picture: &PreflightSnapshot,
    wanted: &PreflightRequirements,
) -> Vec<PreflightFinding> {
    let mut findings = Vec::new();
    for service in &wanted.services {
        findings.extend(address::check_service_address(picture, *service));
        findings.extend(routes::check_extra_routes(picture, *service));
        findings.extend(routes::check_return_route(picture, *service));
    }
    let has = |v4: bool| wanted.services.iter().any(|service| service.is_ipv4() == v4);
    if has(true) {
        findings.extend(arp::check_arp(picture));
        findings.extend(reverse_path::check_reverse_path(picture));
    }
    if let Some(encapsulation) = wanted.tunnel {
        findings.push(reverse_path::check_decapsulation(picture, encapsulation));
        for v4 in [true, false].into_iter().filter(|v4| has(*v4)) {
            findings.extend(reverse_path::check_segment_size(
                picture,
                encapsulation,
                wanted.path_mtu,
                v4,
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
