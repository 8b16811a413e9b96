//! Prints differences: a line for each object that was added, removed or changed.

use std::fmt;

use super::ConfigDiff;
use crate::config::object_changes::ObjectChanges;

impl fmt::Display for ConfigDiff {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(to, "nothing changes");
        }
        if !self.global.is_empty() {
            writeln!(to, "~ global: {}", join_keys(&self.global))?;
        }
        if !self.packets.is_empty() {
            writeln!(to, "~ packets: {}", join_keys(&self.packets))?;
        }
        write_object_changes(to, "service", &self.services)?;
        write_added_and_removed(to, "pool", &self.pools)?;
        for (name, change) in &self.pools.changed {
            if !change.keys.is_empty() {
                writeln!(to, "~ pool {name}: {}", join_keys(&change.keys))?;
            }
            write_added_and_removed(to, &format!("server {name}"), &change.servers)?;
            for (server, keys) in &change.servers.changed {
                writeln!(to, "~ server {name}/{server}: {}", join_keys(keys))?;
            }
        }
        write_object_changes(to, "vrrp", &self.vrrp)?;
        write_object_changes(to, "heartbeat", &self.heartbeats)?;
        write_object_changes(to, "auth", &self.auths)?;
        write_object_changes(to, "capture", &self.captures)?;
        write_object_changes(to, "link", &self.links)?;
        if !self.mptcp.is_empty() {
            writeln!(to, "~ mptcp: {}", join_keys(&self.mptcp))?;
        }
        if !self.outward.is_empty() {
            writeln!(to, "~ uplinks: {}", join_keys(&self.outward))?;
        }
        write_object_changes(to, "uplink", &self.uplinks)?;
        if !self.name_server.is_empty() {
            writeln!(to, "~ names: {}", join_keys(&self.name_server))?;
        }
        write_object_changes(to, "zone", &self.zones)?;
        write_object_changes(to, "name", &self.names)
    }
}

/// Objects that have only keys.
fn write_object_changes<K: fmt::Display>(
    to: &mut fmt::Formatter<'_>,
    what: &str,
    changes: &ObjectChanges<Vec<K>>,
) -> fmt::Result {
    write_added_and_removed(to, what, changes)?;
    changes
        .changed
        .iter()
        .try_for_each(|(name, keys)| writeln!(to, "~ {what} {name}: {}", join_keys(keys)))
}

fn write_added_and_removed<C>(
    to: &mut fmt::Formatter<'_>,
    what: &str,
    changes: &ObjectChanges<C>,
) -> fmt::Result {
    let glue = if what.starts_with("server ") { "/" } else { " " };
    for name in &changes.removed {
        writeln!(to, "- {what}{glue}{name}")?;
    }
    for name in &changes.added {
        writeln!(to, "+ {what}{glue}{name}")?;
    }
    Ok(())
}

fn join_keys(keys: &[impl fmt::Display]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
