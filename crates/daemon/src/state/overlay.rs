//! Servers that differ from the file: operators add and remove them, or service discovery finds them. Pure: the input
//! is a checked configuration, the output is the configuration to activate.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use model::config::server_edit::{parse_server_address, server_name};
use model::config::{AdminState, CheckedConfig, Config, PoolConfig, ServerConfig, ServerWeight};
use serde::{Deserialize, Serialize};

use crate::state::origin::ChangeOrigin;
use crate::state::server_text::format_address;

/// The limit of servers in all pools together, regardless of their source: the number that one file may have.
pub const SERVERS: usize = 10_000;

/// Differences from the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ServerOverlay {
    /// Servers that operators added.
    pub added: Vec<AddedServer>,
    /// Servers that operators removed.
    pub removed: Vec<RemovedServer>,
    /// Discovered servers: the last valid answer of each pool.
    pub found: Vec<DiscoveredServers>,
}

/// A server that an operator added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AddedServer {
    pub pool: String,
    pub name: String,
    /// Its address, as written.
    pub address: String,
    /// Its weight; `None`: the pool's.
    pub weight: Option<u16>,
    pub by: ChangeOrigin,
    pub at: SystemTime,
}

/// A server that an operator removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RemovedServer {
    pub pool: String,
    pub name: String,
    /// Its address: at another one it is another server.
    pub address: String,
    pub by: ChangeOrigin,
    pub at: SystemTime,
}

/// The servers that a source returned for a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DiscoveredServers {
    pub pool: String,
    pub servers: Vec<DiscoveredServer>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DiscoveredServer {
    pub address: String,
    /// Its name; `None`: derived from the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its weight; `None`: the pool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u16>,
}

/// An operator's commands for one name; only one of the two may be set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct MembershipOverride {
    pub added: Option<AddedServer>,
    pub removed: Option<RemovedServer>,
}

impl ServerOverlay {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.found.is_empty()
    }

    /// The configuration with the overlay applied.
    pub fn apply_to(&self, checked: &CheckedConfig) -> Config {
        let mut config = checked.config.clone();
        if self.is_empty() {
            return config;
        }
        for pool in config.pools.values_mut() {
            if let Some(servers) = self.servers(pool, checked) {
                *pool = Arc::new(PoolConfig { servers, ..(**pool).clone() });
            }
        }
        config
    }

    /// The operator's commands for this name.
    pub fn membership_override(&self, pool: &str, name: &str) -> MembershipOverride {
        let added = self.added.iter().find(|entry| entry.pool == pool && entry.name == name);
        let removed = self.removed.iter().find(|entry| entry.pool == pool && entry.name == name);
        MembershipOverride { added: added.cloned(), removed: removed.cloned() }
    }

    /// The overlay with other commands for this name.
    pub fn with_membership(
        &self,
        pool: &str,
        name: &str,
        manual: MembershipOverride,
    ) -> ServerOverlay {
        let mut next = self.clone();
        next.added.retain(|entry| entry.pool != pool || entry.name != name);
        next.removed.retain(|entry| entry.pool != pool || entry.name != name);
        next.added.extend(manual.added);
        next.removed.extend(manual.removed);
        next
    }

    /// The overlay with the servers that a source returned for this pool.
    pub fn with_discovered(&self, pool: &str, servers: Vec<DiscoveredServer>) -> ServerOverlay {
        let mut next = self.clone();
        next.found.retain(|discovered| discovered.pool != pool);
        if !servers.is_empty() {
            next.found.push(DiscoveredServers { pool: pool.to_owned(), servers });
            next.found.sort_by(|a, b| a.pool.cmp(&b.pool));
        }
        next
    }

    /// The overlay without entries that are meaningless under this configuration: removed pools, names that the file
    /// now has, and removals of servers that no longer exist.
    pub fn for_config(&self, checked: &CheckedConfig) -> ServerOverlay {
        let pools = &checked.config.pools;
        let mut next = self.clone();
        let written = |pool: &str, name: &str| {
            pools.get(pool).and_then(|pool| pool.servers.iter().find(|entry| entry.name == name))
        };
        next.added.retain(|entry| {
            pools.contains_key(&entry.pool) && written(&entry.pool, &entry.name).is_none()
        });
        let looked_up =
            |pool: &String| pools.get(pool).is_some_and(|entry| entry.discovery.is_some());
        next.found.retain(|entry| looked_up(&entry.pool));
        next.removed.retain(|entry| {
            let in_file = written(&entry.pool, &entry.name)
                .is_some_and(|server| format_address(&server.address) == entry.address);
            let discovered = next.found.iter().filter(|discovered| discovered.pool == entry.pool);
            in_file
                || discovered
                    .flat_map(|discovered| &discovered.servers)
                    .any(|candidate| candidate.address == entry.address)
        });
        next
    }

    /// The overlay with the file's previous servers of pools that now use discovery and have no answer yet: they stay
    /// until the first answer. Servers that the file itself removed stay removed.
    pub fn with_file_servers(&self, before: &Config, checked: &CheckedConfig) -> ServerOverlay {
        let mut next = self.clone();
        for (name, pool) in &checked.config.pools {
            let answered = self.found.iter().any(|discovered| discovered.pool == *name);
            let Some(old) = before.pools.get(name).filter(|_| !answered) else { continue };
            if pool.discovery.is_none() || !pool.servers.is_empty() {
                continue;
            }
            let enabled = old.servers.iter().filter(|server| server.admin == AdminState::Enabled);
            let known = |server: &Arc<ServerConfig>| DiscoveredServer {
                address: format_address(&server.address),
                name: Some(server.name.clone()),
                weight: Some(server.weight.get()),
            };
            next = next.with_discovered(name, enabled.map(known).collect());
        }
        next
    }

    /// The servers of a pool where they differ from the file.
    fn servers(
        &self,
        pool: &PoolConfig,
        checked: &CheckedConfig,
    ) -> Option<Vec<Arc<ServerConfig>>> {
        let discovered = self.found.iter().filter(|entry| entry.pool == pool.name);
        let discovered: Vec<&DiscoveredServer> =
            discovered.flat_map(|entry| &entry.servers).collect();
        let added: Vec<&AddedServer> =
            self.added.iter().filter(|entry| entry.pool == pool.name).collect();
        let removed: Vec<&RemovedServer> =
            self.removed.iter().filter(|entry| entry.pool == pool.name).collect();
        if discovered.is_empty() && added.is_empty() && removed.is_empty() {
            return None;
        }
        let template = checked.server_template(&pool.name)?;
        let mut servers = pool.servers.clone();
        let mut names: HashSet<String> = servers.iter().map(|entry| entry.name.clone()).collect();
        let discovered = discovered
            .iter()
            .map(|entry| (entry.name.clone(), entry.address.as_str(), entry.weight));
        let added = added
            .iter()
            .map(|entry| (Some(entry.name.clone()), entry.address.as_str(), entry.weight));
        for (name, address, weight) in discovered.chain(added) {
            let Ok(address) = parse_server_address(address) else { continue };
            let name = name.unwrap_or_else(|| server_name(&address));
            let known = servers.iter().any(|entry| entry.name == name || entry.address == address);
            if !known && names.insert(name.clone()) {
                let weight = weight.and_then(ServerWeight::new).unwrap_or(template.weight);
                let admin = AdminState::Enabled;
                servers.push(Arc::new(ServerConfig {
                    name,
                    cookie_value: None,
                    address,
                    weight,
                    admin,
                    ..template.clone()
                }));
            }
        }
        servers.retain(|server| {
            let gone = |entry: &&&RemovedServer| {
                entry.name == server.name && entry.address == format_address(&server.address)
            };
            removed.iter().find(gone).is_none()
        });
        Some(servers)
    }
}

#[cfg(test)]
mod tests {
    use model::config::load;

    use super::*;
    use crate::state::origin::ChangeTrigger;

    const TEXT: &str = "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"tcp\"\npool = \"web\"\n[pool.web]\nprobe = \
         \"tcp\"\nweight = 5\nservers = [{ name = \"a\", address = \"10.0.0.1:80\", weight = 2 }, \"10.0.0.2:80\"]\n";

    fn added(name: &str, address: &str) -> AddedServer {
        let pool = "web".into();
        let name = name.into();
        let address = address.into();
        let by = ChangeOrigin::new("tester", ChangeTrigger::Api);
        AddedServer { pool, name, address, weight: None, by, at: SystemTime::UNIX_EPOCH }
    }

    fn removed(name: &str, address: &str) -> RemovedServer {
        let AddedServer { pool, name, address, by, at, .. } = added(name, address);
        RemovedServer { pool, name, address, by, at }
    }

    fn names(overlay: &ServerOverlay, text: &str) -> Vec<String> {
        let config = overlay.apply_to(&load(text, "x").unwrap());
        config.pools["web"].servers.iter().map(|server| server.name.clone()).collect()
    }

    #[test]
    fn what_is_added_takes_what_the_pool_says_of_its_servers() {
        let overlay =
            ServerOverlay { added: vec![added("c", "10.0.0.3:80")], ..ServerOverlay::default() };
        let checked = load(TEXT, "x").unwrap();
        let config = overlay.apply_to(&checked);
        let new = &config.pools["web"].servers[2];
        assert_eq!((new.name.as_str(), new.weight.get(), new.probe.is_some()), ("c", 5, true));
        assert!(Arc::ptr_eq(&config.services["s"], &checked.config.services["s"]));
    }

    #[test]
    fn sources_operators_and_the_file_do_not_double_each_other() {
        let one =
            |address: &str| DiscoveredServer { address: address.into(), name: None, weight: None };
        let overlay =
            ServerOverlay { added: vec![added("a", "10.0.0.9:80")], ..ServerOverlay::default() }
                .with_discovered(
                    "web",
                    vec![one("10.0.0.1:80"), one("10.0.0.4:80"), one("rubbish")],
                );
        assert_eq!(names(&overlay, TEXT), ["a", "10-0-0-2-80", "10-0-0-4-80"]);
        let gone = MembershipOverride {
            removed: Some(removed("10-0-0-4-80", "10.0.0.4:80")),
            added: None,
        };
        let overlay = overlay.with_membership("web", "10-0-0-4-80", gone);
        assert_eq!(names(&overlay, TEXT), ["a", "10-0-0-2-80"]);
    }

    #[test]
    fn servers_of_the_file_stay_until_a_source_has_answered_and_those_taken_out_do_not_come_back() {
        let before = TEXT.replace(
            "\"10.0.0.2:80\"",
            "\"10.0.0.2:80\", { address = \"10.0.0.3:80\", state = \"disabled\" }",
        );
        let before = load(&before, "x").unwrap().config;
        let start = TEXT.find("servers = ").unwrap();
        let source = format!("{}servers-from = {{ file = \"/run/web\" }}\n", &TEXT[..start]);
        let checked = load(&source, "x").unwrap();
        let kept =
            ServerOverlay::default().for_config(&checked).with_file_servers(&before, &checked);
        assert_eq!(names(&kept, &source), ["a", "10-0-0-2-80"]);
        assert_eq!(kept.apply_to(&checked).pools["web"].servers[0].weight.get(), 2);
        let one = DiscoveredServer { address: "10.0.0.9:80".into(), name: None, weight: None };
        let found = kept.with_discovered("web", vec![one]);
        assert_eq!(names(&found, &source), ["10-0-0-9-80"]);
        // A later change of the file does not restore servers that a source has replaced.
        let again = found.for_config(&checked).with_file_servers(&before, &checked);
        assert_eq!(names(&again, &source), ["10-0-0-9-80"]);
        let back = load(TEXT, "x").unwrap();
        assert!(
            kept.for_config(&back).with_file_servers(&before, &back).is_empty(),
            "the file has them"
        );
    }

    #[test]
    fn what_the_file_has_now_is_no_difference_any_more() {
        let overlay = ServerOverlay {
            added: vec![added("c", "10.0.0.3:80"), added("d", "10.0.0.4:80")],
            removed: vec![removed("a", "10.0.0.1:80"), removed("z", "10.0.0.8:80")],
            found: Vec::new(),
        };
        let next = TEXT.replace("\"10.0.0.2:80\"", "{ name = \"c\", address = \"10.0.0.3:80\" }");
        let left = overlay.for_config(&load(&next, "x").unwrap());
        assert_eq!((left.added.len(), left.removed.len()), (1, 1));
        assert_eq!(names(&left, &next), ["c", "d"]);
        let moved = next.replace("10.0.0.1:80", "10.0.0.77:80");
        assert_eq!(overlay.for_config(&load(&moved, "x").unwrap()).removed, []);
    }
}
