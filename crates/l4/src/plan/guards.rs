//! Allow and deny lists of a service in the form of the map. Pure.

use std::collections::BTreeMap;

use model::config::GuardConfig;

use super::encoding::to_mapped_bytes;
use super::rules::mapped_bits;
use crate::abi;

/// Guards by prefix length and address; a network in both lists is denied.
pub fn guard_entries(guard: &GuardConfig) -> BTreeMap<(u32, [u8; 16]), abi::GuardValue> {
    let allow = guard.allow.iter().map(|prefix| (prefix, abi::Guard::GuardAllow));
    let deny = guard.deny.iter().map(|prefix| (prefix, abi::Guard::GuardDeny));
    let entry = |(prefix, action): (&model::config::IpPrefix, abi::Guard)| {
        // The scope's 32 bits always count.
        let key = (32 + mapped_bits(*prefix), to_mapped_bytes(prefix.address()));
        (key, abi::GuardValue { action: action as u32, until: 0 })
    };
    allow.chain(deny).map(entry).collect()
}

/// The key of a guard of a service.
pub fn guard_key(service: u32, (prefix, addr): (u32, [u8; 16])) -> abi::GuardKey {
    abi::GuardKey { prefix, scope: service, addr }
}
