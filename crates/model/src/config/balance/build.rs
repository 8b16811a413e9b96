//! Builds the load balancing settings of the checked configuration.

use super::types::{BalancePolicy, HashKey, Priority, WeightControllerConfig};
use crate::config::section::ConfigSection;

pub fn build_balance(section: &ConfigSection) -> BalancePolicy {
    match section.text("by") {
        Some("least-request") => BalancePolicy::LeastRequest,
        Some("least-connections") => BalancePolicy::LeastConnections,
        Some("least-bandwidth") => BalancePolicy::LeastBandwidth,
        Some("fastest") => BalancePolicy::Fastest,
        Some("least-loaded") => BalancePolicy::LeastLoaded,
        Some("peak-ewma") => BalancePolicy::PeakEwma,
        Some("prequal") => BalancePolicy::Prequal,
        Some("random") => BalancePolicy::Random,
        Some("maglev") => BalancePolicy::Maglev { size: section.count_or_zero("size") },
        Some("bounded-hash") => BalancePolicy::BoundedHash {
            size: section.count_or_zero("size"),
            load_factor: section.count_or_zero("load-factor"),
        },
        Some("source") => BalancePolicy::Source {
            mask4: section.count_or_zero("mask4"),
            mask6: section.count_or_zero("mask6"),
        },
        _ => BalancePolicy::RoundRobin,
    }
}

/// The hash key of a pool.
pub fn build_hash_key(pool: &ConfigSection) -> HashKey {
    let Some(section) = pool.table("hash-on") else { return HashKey::Address };
    let named = |key: &str| section.text(key).map(str::to_owned);
    if let Some(name) = named("header") {
        return HashKey::Header(name);
    }
    if let Some(name) = named("cookie") {
        return HashKey::Cookie(name);
    }
    if let Some(name) = named("query") {
        return HashKey::Query(name);
    }
    match section.text("by") {
        Some("address-port") => HashKey::AddressPort,
        Some("uri") => HashKey::Uri,
        Some("path") => HashKey::Path,
        Some("symmetric") => HashKey::Symmetric,
        Some("source-mac") => HashKey::SourceMac,
        _ => HashKey::Address,
    }
}

pub fn build_weight_controller(pool: &ConfigSection) -> Option<WeightControllerConfig> {
    let section = pool.table("dynamic-weights")?;
    Some(WeightControllerConfig {
        active: section.count_or_zero("active"),
        new: section.count_or_zero("new"),
        latency: section.count_or_zero("latency"),
        agent: section.count_or_zero("agent"),
        every: section.time_or_zero("interval"),
        sensitivity: section.count_or_zero("sensitivity"),
        smoothing: section.count_or_zero("smoothing"),
        bound: section.count_or_zero("max-weight"),
    })
}

pub fn build_priority(server: &ConfigSection) -> Priority {
    if server.flag("last-resort") {
        return Priority::LAST_RESORT;
    }
    if server.flag("backup") {
        return Priority::BACKUP;
    }
    Priority::new(server.count_or_zero("priority")).unwrap_or_default()
}

pub fn build_locality(section: &ConfigSection) -> Option<String> {
    section.text("locality").map(str::to_owned)
}
