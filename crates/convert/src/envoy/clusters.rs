//! Clusters as pools: one each, and one more for each thing that routes have hashed.

use std::collections::HashMap;

use crate::document::{Document, TomlTable};
use crate::duration::format_duration;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;

use super::cluster::{ClusterPool, read_cluster};
use super::default_times::{ROUTE_TIMEOUT_MS, STREAM_IDLE_MS};
use super::reader::take_text;
use super::secrets::StaticSecrets;

/// A key of a pool that a route wants.
#[derive(Clone, Debug)]
pub struct PoolEntry {
    pub key: &'static str,
    pub value: String,
    pub source: SourcePlace,
}

/// What a route wants of the pool that it goes to.
#[derive(Clone, Debug, Default)]
pub struct PoolSettings {
    /// Connections of bytes rather than requests.
    pub is_tcp: bool,
    pub keys: Vec<PoolEntry>,
}

impl PoolSettings {
    pub fn set(&mut self, key: &'static str, value: impl Into<String>, source: SourcePlace) {
        self.keys.push(PoolEntry { key, value: value.into(), source });
    }

    fn is_like(&self, other: &PoolSettings) -> bool {
        let same = |one: &PoolEntry, two: &PoolEntry| one.key == two.key && one.value == two.value;
        self.is_tcp == other.is_tcp
            && self.keys.len() == other.keys.len()
            && self.keys.iter().zip(&other.keys).all(|(one, two)| same(one, two))
    }
}

/// A pool that is to be written.
struct WantedPool {
    cluster: usize,
    settings: PoolSettings,
    name: String,
}

/// All clusters of the file, and the pools that routes want of them.
pub struct ClusterPools {
    clusters: Vec<ClusterPool>,
    by_name: HashMap<String, usize>,
    wanted: Vec<WantedPool>,
    names: UniqueNames,
}

/// Keys of a pool that only requests have.
const HTTP_ONLY: [&str; 2] = ["eject", "http2"];

impl ClusterPools {
    pub fn read(
        clusters: &[ConfigNode],
        secrets: &StaticSecrets<'_>,
        notes: &mut ConversionNotes,
    ) -> ClusterPools {
        let mut pools = ClusterPools {
            clusters: Vec::new(),
            by_name: HashMap::new(),
            wanted: Vec::new(),
            names: crate::empty_pool::reserve_name(),
        };
        for node in clusters {
            let name = take_text(node, "name", notes).unwrap_or_default();
            if pools.by_name.contains_key(name) {
                let reason = "another cluster has this name";
                notes.unreadable(node.source.whole(), node.describe(), reason, "a name of its own");
                continue;
            }
            pools.by_name.insert(name.to_owned(), pools.clusters.len());
            pools.clusters.push(read_cluster(name, node, secrets, notes));
        }
        pools
    }

    /// The name of the pool of a cluster with these settings. `None` if there is no such cluster, or no pool of it.
    pub fn want(
        &mut self,
        cluster: &str,
        settings: &PoolSettings,
        notes: &mut ConversionNotes,
    ) -> Option<String> {
        let at = *self.by_name.get(cluster)?;
        let found = &self.clusters[at];
        if found.unusable {
            return None;
        }
        let mut settings = settings.clone();
        if !found.table.get("balance").is_some_and(|value| value.contains("maglev")) {
            for entry in settings.keys.iter().filter(|entry| entry.key == "hash-on") {
                let reason = "the policy of the cluster hashes nothing";
                notes.not_needed(entry.source.whole(), "hash_policy", reason);
            }
            settings.keys.retain(|entry| entry.key != "hash-on");
        }
        let known =
            self.wanted.iter().find(|one| one.cluster == at && one.settings.is_like(&settings));
        if let Some(known) = known {
            return Some(known.name.clone());
        }
        let name = self.names.unique_name(cluster);
        self.wanted.push(WantedPool { cluster: at, settings, name: name.clone() });
        Some(name)
    }

    /// Whether `metadata_match` of a route, or of a part of a split, means some of the cluster's servers only.
    pub fn chooses_subset(&self, node: &ConfigNode, cluster: &str) -> bool {
        let has_subsets =
            self.by_name.get(cluster).is_some_and(|at| self.clusters[*at].has_subsets);
        has_subsets && node.has("metadata_match")
    }

    /// The host name of the only server of a cluster.
    pub fn host_name(&self, cluster: &str) -> Option<&str> {
        let at = self.by_name.get(cluster)?;
        self.clusters[*at].host_name.as_deref()
    }

    /// Writes the pools, and reports clusters that no route refers to.
    pub fn write(self, document: &mut Document, notes: &mut ConversionNotes) {
        let mut used = vec![false; self.clusters.len()];
        for wanted in &self.wanted {
            used[wanted.cluster] = true;
            self.write_pool(wanted, document, notes);
        }
        for (cluster, used) in self.clusters.iter().zip(used) {
            if !used && !cluster.unusable && !notes.ledger.covers_block(cluster.source) {
                let reason = "no route that is written here leads to it";
                notes.changed(cluster.source.whole(), &cluster.directive, reason, "");
            }
        }
    }

    fn write_pool(
        &self,
        wanted: &WantedPool,
        document: &mut Document,
        notes: &mut ConversionNotes,
    ) {
        let cluster = &self.clusters[wanted.cluster];
        let path = format!("pool.{}", wanted.name);
        let mut table = cluster.table.clone();
        table.path.clone_from(&path);
        let is_tcp = wanted.settings.is_tcp;
        for key in HTTP_ONLY.iter().filter(|_| is_tcp) {
            let written = table.source_of(key);
            if let Some(source) = written.filter(|source| source.line() > 0) {
                let reason = "a pool of connections has no such setting";
                notes.left_out(source, key, reason, "");
            }
            table.entries.retain(|entry| entry.key != *key);
        }
        if !is_tcp {
            // Without a policy of its own a route sends no request again.
            table.set("retries", "0", SourcePlace::NONE);
            table.set("retry", "{ budget = \"off\" }", SourcePlace::NONE);
        }
        for entry in &wanted.settings.keys {
            table.set(entry.key, entry.value.clone(), entry.source);
        }
        document.push(table);
        let mut times = TomlTable::new(format!("{path}.timeout"), SourcePlace::NONE, "");
        times.set("connect", format_duration(cluster.connect.ms.max(1)), cluster.connect.source);
        if !is_tcp {
            times.set("first-byte", format_duration(ROUTE_TIMEOUT_MS), SourcePlace::NONE);
            for key in ["between-bytes", "stream"] {
                times.set(key, format_duration(STREAM_IDLE_MS), SourcePlace::NONE);
            }
            times.set("idle", format_duration(cluster.idle.ms.max(1)), cluster.idle.source);
        }
        document.push(times);
        if let Some(tls) = &cluster.tls {
            let mut tls = tls.clone();
            tls.path = format!("{path}.tls");
            document.push(tls);
        }
    }
}
