//! Allow and deny lists of a service in the form of the map. Pure.

use std::collections::BTreeMap;

use model::config::GuardConfig;

use super::encoding::to_mapped_bytes;
use super::rules::mapped_bits;
use crate::abi;

/// The network of a guard in the form of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GuardPrefix {
    /// Bits that count: the scope's 32, and those of the address.
    pub length: u32,
    /// IPv4 is mapped.
    pub address: [u8; 16],
}

/// Guards by their network; a network in both lists is denied.
pub fn guard_entries(guard: &GuardConfig) -> BTreeMap<GuardPrefix, abi::GuardValue> {
    let allow = guard.allow.iter().map(|prefix| (prefix, abi::Guard::GuardAllow));
    let deny = guard.deny.iter().map(|prefix| (prefix, abi::Guard::GuardDeny));
    let entry = |(prefix, action): (&model::config::IpPrefix, abi::Guard)| {
        // The scope's 32 bits always count.
        let key = GuardPrefix {
            length: 32 + mapped_bits(*prefix),
            address: to_mapped_bytes(prefix.address()),
        };
        (key, abi::GuardValue { action: action as u32, until: 0 })
    };
    allow.chain(deny).map(entry).collect()
}

/// The key of a guard of a service.
pub fn guard_key(service: u32, prefix: GuardPrefix) -> abi::GuardKey {
    abi::GuardKey { prefix: prefix.length, scope: service, addr: prefix.address }
}
