//! Servers, their addresses and moments in the words of messages and of the audit log.

use std::time::{SystemTime, UNIX_EPOCH};

use model::calendar::CivilDateTime;
use model::config::ServerAddress;

use crate::state::state_snapshot::ServerFacts;

/// Describes a server briefly, for the audit log.
pub fn describe_server(facts: &ServerFacts) -> String {
    let address = format_address(&facts.config.address);
    let state = facts.state.name();
    let weight = facts.weight.get();
    format!("{state}, weight {weight}, at {address}: {}", facts.reason)
}

/// A moment as people read it, in UTC.
pub fn format_utc(at: SystemTime) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{}Z", CivilDateTime::from_unix_seconds(i64::try_from(seconds).unwrap_or(i64::MAX / 2)))
}

/// A configured address, as it is written.
pub fn format_address(address: &ServerAddress) -> String {
    address.to_string()
}
