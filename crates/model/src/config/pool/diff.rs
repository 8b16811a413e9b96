//! The differences between two pools: their keys, and their added, removed and changed servers.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::types::PoolConfig;
use crate::config::address::ServerAddress;
use crate::config::changed_keys::changed_keys;
use crate::config::object_changes::ObjectChanges;
use crate::config::server::{ServerConfig, ServerKey};

/// The changes of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolChange {
    /// Changed keys of the pool itself.
    pub keys: Vec<PoolKey>,
    /// Changed servers. A server with another address counts as another one of the same name: removed and added.
    pub servers: ObjectChanges<Vec<ServerKey>>,
}

changed_keys! {
    /// A key of a pool; `Order` if only the order of the servers differs.
    PoolKey of PoolConfig besides (name, servers) and Order = "order":
    Balance = "balance" => balance,
    HashOn = "hash-on" => hash_on,
    DynamicWeights = "dynamic-weights" => judge,
    SlowStart = "slow-start" => slow_start,
    SpillOver = "spill-over" => spill_over,
    Locality = "locality" => locality,
    Initial = "initial" => initial,
    AllDown = "all-down" => all_down,
    Discovery = "servers-from" => discovery,
    Probe = "probe" => probe,
    Agent = "agent" => agent,
    Timeout = "timeout" => timeout,
    Limit = "limit" => limit,
    Source = "source" => source,
    SourceClient = "source" => source_client,
    Socket = "socket" => socket,
    Retries = "retries" => retries,
    Retry = "retry" => retry,
    Eject = "eject" => eject,
    CircuitBreaker = "circuit-breaker" => breaker,
    LoadShedding = "load-shedding" => shed,
    Hedge = "hedge" => hedge,
    Tls = "tls" => tls,
    Http2 = "http2" => http2,
    SendProxy = "send-proxy" => send_proxy,
    LenientResponses = "lenient-responses" => lenient_answers,
}

type ServerIdentity<'c> = (&'c str, &'c ServerAddress);

pub fn index_servers(pool: &PoolConfig) -> HashMap<ServerIdentity<'_>, &Arc<ServerConfig>> {
    pool.servers.iter().map(|server| ((server.name.as_str(), &server.address), server)).collect()
}

pub fn diff_pool(old: &PoolConfig, new: &PoolConfig) -> PoolChange {
    let before = index_servers(old);
    let after = index_servers(new);
    let named = |servers: &[Arc<ServerConfig>],
                 others: &HashMap<ServerIdentity<'_>, &Arc<ServerConfig>>| {
        let alone = servers.iter().filter(|s| !others.contains_key(&(s.name.as_str(), &s.address)));
        alone.map(|server| server.name.clone()).collect::<Vec<_>>()
    };
    let kept = |pool: &'_ PoolConfig, others: &HashMap<ServerIdentity<'_>, &Arc<ServerConfig>>| {
        let kept =
            pool.servers.iter().filter(|s| others.contains_key(&(s.name.as_str(), &s.address)));
        kept.map(|server| server.name.clone()).collect::<Vec<_>>()
    };
    let both =
        new.servers.iter().filter_map(|s| Some((*before.get(&(s.name.as_str(), &s.address))?, s)));
    let changed = both.filter(|(old, new)| old != new);
    let mut keys = PoolKey::between(old, new);
    if kept(old, &after) != kept(new, &before) {
        keys.push(PoolKey::Order);
    }
    PoolChange {
        keys,
        servers: ObjectChanges {
            added: named(&new.servers, &before),
            removed: named(&old.servers, &after),
            changed: changed
                .map(|(old, new)| (new.name.clone(), ServerKey::between(old, new)))
                .collect(),
        },
    }
}
