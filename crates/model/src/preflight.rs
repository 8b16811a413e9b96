//! Preflight checks: whether a server is ready for a forwarding method. Its addresses, its ARP settings, its routes.
//!
//! The checks work on a snapshot of the machine that the caller took; each finding has the observed state, the expected
//! one and the exact commands that fix it. Nothing is read or changed here.

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

/// Runs all checks, in the order in which their findings are fixed.
pub fn check_server(
    snapshot: &PreflightSnapshot,
    wanted: &PreflightRequirements,
) -> Vec<PreflightFinding> {
    let mut findings = Vec::new();
    for service in &wanted.services {
        findings.extend(address::check_service_address(snapshot, *service));
        findings.extend(routes::check_extra_routes(snapshot, *service));
        findings.extend(routes::check_return_route(snapshot, *service));
    }
    let has = |v4: bool| wanted.services.iter().any(|service| service.is_ipv4() == v4);
    if has(true) {
        findings.extend(arp::check_arp(snapshot));
        findings.extend(reverse_path::check_reverse_path(snapshot));
    }
    if let Some(encapsulation) = wanted.tunnel {
        findings.push(reverse_path::check_decapsulation(snapshot, encapsulation));
        for v4 in [true, false].into_iter().filter(|v4| has(*v4)) {
            findings.extend(reverse_path::check_segment_size(
                snapshot,
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
