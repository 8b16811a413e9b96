//! Builds what Multipath TCP is told.

use super::super::mptcp::{Endpoint, Mptcp, Purpose};
use super::super::section::Section;

pub(super) fn mptcp(section: &Section) -> Mptcp {
    let all = purpose(section).unwrap_or(Purpose::Both);
    let endpoint = |one: &Section| {
        Some(Endpoint {
            address: *one.addresses("address").first()?,
            interface: one.text("interface").map(str::to_owned),
            purpose: purpose(one).unwrap_or(all),
            backup: one.flag("backup"),
        })
    };
    Mptcp {
        bundle: section.text("bundle").map(str::to_owned),
        endpoints: section.list("endpoints").iter().filter_map(endpoint).collect(),
        purpose: all,
        subflows: section.number("subflows"),
    }
}

fn purpose(section: &Section) -> Option<Purpose> {
    match section.text("use")? {
        "subflow" => Some(Purpose::Subflow),
        "signal" => Some(Purpose::Signal),
        _ => Some(Purpose::Both),
    }
}
