//! Whether a server is ready for a forwarding method: its addresses, its silence about them, its routes.
//!
//! Checks over a picture of the machine that somebody else has taken; each says what was found, what was expected
//! and the exact commands that mend it. Nothing is read or changed here.

mod address;
mod finding;
mod path;
mod picture;
mod routes;
mod silence;

pub use finding::{Check, Finding, Verdict};
pub use picture::{Address, Decapsulator, Encapsulation, Link, Picture, Route, Settings, Wanted};

/// Everything that can be said of this server, in the order in which one mends it.
pub fn examine(picture: &Picture, wanted: &Wanted) -> Vec<Finding> {
    let mut findings = Vec::new();
    for service in &wanted.services {
        findings.extend(address::check(picture, *service));
        findings.extend(routes::extra(picture, *service));
        findings.extend(routes::back(picture, *service));
    }
    let has = |v4: bool| wanted.services.iter().any(|service| service.is_ipv4() == v4);
    if has(true) {
        findings.extend(silence::check(picture));
        findings.extend(path::reverse(picture));
    }
    if let Some(encapsulation) = wanted.tunnel {
        findings.push(path::decapsulated(picture, encapsulation));
        for v4 in [true, false].into_iter().filter(|v4| has(*v4)) {
            findings.extend(path::segments(picture, encapsulation, wanted.path_mtu, v4));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
