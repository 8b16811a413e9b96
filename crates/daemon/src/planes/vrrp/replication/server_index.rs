//! Numbers that both members have for a server, and what they mean here. Pure.
//!
//! Indexes of servers differ between members, as they come and go in another order. Both agree on a digest of the
//! service's name with the server's address and port. Two servers with one number are not replicated.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use l4::layout::{IndexedShare, ServerKey, ShareKey};

use crate::planes::packets::connection_tables::{ConnectionTables, ReplicatedService, TableServer};

#[derive(Clone, Debug)]
pub struct ReplicatedServer {
    pub index: u32,
    /// Its number; `None`: another one has the same.
    pub number: Option<u32>,
    pub key: ServerKey,
    /// Its service is at an address that this member holds.
    pub is_held: bool,
    /// This member holds the server's address, or held it until just now. It then sends the last forwarded connections.
    pub is_sent: bool,
    /// Whether its service's connections are replicated.
    pub replicates_flows: bool,
    /// Whether its sticky clients are replicated.
    pub replicates_affinity: bool,
}

/// Servers whose state is replicated.
#[derive(Clone, Debug, Default)]
pub struct ServerIndex {
    by_index: HashMap<u32, ReplicatedServer>,
    by_number: HashMap<u32, u32>,
    shares: HashMap<u32, IndexedShare>,
    by_share: HashMap<ShareKey, IndexedShare>,
}

impl ServerIndex {
    /// The index of tables. `active`: the addresses that this member holds. `lately`: the addresses that it also held
    /// until just now.
    pub fn from_tables(
        tables: &ConnectionTables,
        active: &BTreeSet<IpAddr>,
        lately: &BTreeSet<IpAddr>,
    ) -> ServerIndex {
        let mut index = ServerIndex::default();
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        for TableServer { service, key, .. } in &tables.servers {
            *numbers.entry(number(service, key)).or_default() += 1;
        }
        for TableServer { index: at, service, key } in &tables.servers {
            let Some(told) = tables.services.get(service) else { continue };
            let one = number(service, key);
            let alone = numbers.get(&one) == Some(&1);
            let server = ReplicatedServer {
                index: *at,
                number: alone.then_some(one),
                key: *key,
                is_held: holds_service(told, active),
                is_sent: holds_service(told, lately),
                replicates_flows: told.flows,
                replicates_affinity: told.affinity,
            };
            index.by_index.insert(*at, server);
            if alone {
                index.by_number.insert(one, *at);
            }
        }
        for share in &tables.shares {
            index.shares.insert(share.index, *share);
            index.by_share.insert(share.key, *share);
        }
        index
    }

    /// The server of an index.
    pub fn server(&self, index: u32) -> Option<&ReplicatedServer> {
        self.by_index.get(&index)
    }

    /// The server of a number.
    pub fn server_by_number(&self, number: u32) -> Option<&ReplicatedServer> {
        self.server(*self.by_number.get(&number)?)
    }

    /// The share of an index.
    pub fn share(&self, index: u32) -> Option<&IndexedShare> {
        self.shares.get(&index)
    }

    /// The share of a key.
    pub fn share_by_key(&self, key: &ShareKey) -> Option<&IndexedShare> {
        self.by_share.get(key)
    }
}

fn holds_service(told: &ReplicatedService, active: &BTreeSet<IpAddr>) -> bool {
    told.addresses.iter().any(|ip| active.contains(ip) || ip.is_unspecified() && !active.is_empty())
}

fn number(service: &Arc<str>, key: &ServerKey) -> u32 {
    let text = format!("{service}\n{}\n{}", key.address, key.port);
    let sum = digest(&SHA256, text.as_bytes());
    sum.as_ref().first_chunk::<4>().copied().map_or(0, u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_says_which_server_of_which_service() {
        let key = |service, address: &str, port| ServerKey {
            service,
            address: address.parse().unwrap(),
            port,
        };
        let of = |name: &str, key: ServerKey| number(&Arc::from(name), &key);
        let one = of("shop", key(0, "10.0.0.1", 80));
        assert_eq!(one, of("shop", key(7, "10.0.0.1", 80)), "whatever its index is");
        let others = [
            of("mail", key(0, "10.0.0.1", 80)),
            of("shop", key(0, "10.0.0.2", 80)),
            of("shop", key(0, "10.0.0.1", 0)),
        ];
        assert!(others.iter().all(|other| *other != one), "{one} {others:?}");
    }

    #[test]
    fn a_service_is_held_where_one_of_its_addresses_is() {
        let ip = |text: &str| -> IpAddr { text.parse().unwrap() };
        let told = |addresses: &[&str]| ReplicatedService {
            flows: true,
            affinity: true,
            addresses: addresses.iter().map(|text| ip(text)).collect(),
        };
        let active = BTreeSet::from([ip("192.0.2.10")]);
        assert!(holds_service(&told(&["192.0.2.9", "192.0.2.10"]), &active));
        assert!(
            holds_service(&told(&["0.0.0.0"]), &active)
                && !holds_service(&told(&["0.0.0.0"]), &BTreeSet::new())
        );
        assert!(!holds_service(&told(&["192.0.2.9"]), &active));
    }
}
