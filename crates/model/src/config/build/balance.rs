//! How work is shared out, from its settings to its checked form.

use super::super::balance::{Balance, HashOn, Judge, Priority};
use super::super::section::Section;

/// The policy.
pub fn balance(section: &Section) -> Balance {
    match section.text("by") {
        Some("least-request") => Balance::LeastRequest,
        Some("least-connections") => Balance::LeastConnections,
        Some("least-bandwidth") => Balance::LeastBandwidth,
        Some("fastest") => Balance::Fastest,
        Some("least-loaded") => Balance::LeastLoaded,
        Some("peak-ewma") => Balance::PeakEwma,
        Some("prequal") => Balance::Prequal,
        Some("random") => Balance::Random,
        Some("maglev") => Balance::Maglev { size: section.number("size") },
        Some("bounded-hash") => Balance::BoundedHash {
            size: section.number("size"),
            load_factor: section.number("load-factor"),
        },
        Some("source") => {
            Balance::Source { mask4: section.number("mask4"), mask6: section.number("mask6") }
        }
        _ => Balance::RoundRobin,
    }
}

/// What is hashed, of a pool.
pub fn hash_on(pool: &Section) -> HashOn {
    let Some(section) = pool.table("hash-on") else { return HashOn::Address };
    let named = |key: &str| section.text(key).map(str::to_owned);
    if let Some(name) = named("header") {
        return HashOn::Header(name);
    }
    if let Some(name) = named("cookie") {
        return HashOn::Cookie(name);
    }
    if let Some(name) = named("query") {
        return HashOn::Query(name);
    }
    match section.text("by") {
        Some("address-port") => HashOn::AddressPort,
        Some("uri") => HashOn::Uri,
        Some("path") => HashOn::Path,
        _ => HashOn::Address,
    }
}

/// The judge of a pool, if it has one.
pub fn judge(pool: &Section) -> Option<Judge> {
    let section = pool.table("judge")?;
    Some(Judge {
        active: section.number("active"),
        new: section.number("new"),
        latency: section.number("latency"),
        agent: section.number("agent"),
        every: section.span("every"),
        sensitivity: section.number("sensitivity"),
        smoothing: section.number("smoothing"),
        bound: section.number("bound"),
    })
}

/// The rank of a server.
pub fn priority(server: &Section) -> Priority {
    if server.flag("last-resort") {
        return Priority::LAST_RESORT;
    }
    if server.flag("backup") {
        return Priority::BACKUP;
    }
    Priority::new(server.number("priority")).unwrap_or_default()
}

/// A locality, if one is set.
pub fn locality(section: &Section) -> Option<String> {
    section.text("locality").map(str::to_owned)
}
