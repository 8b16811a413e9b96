//! A difference as people read it: a line each for what came, went or changed.

use std::fmt;

use super::{Changes, Diff};

impl fmt::Display for Diff {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(to, "nothing changes");
        }
        if !self.global.is_empty() {
            writeln!(to, "~ global: {}", joined(&self.global))?;
        }
        if !self.packets.is_empty() {
            writeln!(to, "~ packets: {}", joined(&self.packets))?;
        }
        named(to, "service", &self.services)?;
        ends(to, "pool", &self.pools)?;
        for (name, change) in &self.pools.changed {
            if !change.keys.is_empty() {
                writeln!(to, "~ pool {name}: {}", joined(&change.keys))?;
            }
            ends(to, &format!("server {name}"), &change.servers)?;
            for (server, keys) in &change.servers.changed {
                writeln!(to, "~ server {name}/{server}: {}", joined(keys))?;
            }
        }
        named(to, "vrrp", &self.vrrp)?;
        named(to, "heartbeat", &self.heartbeats)?;
        named(to, "capture", &self.captures)?;
        named(to, "link", &self.links)?;
        if !self.mptcp.is_empty() {
            writeln!(to, "~ mptcp: {}", joined(&self.mptcp))?;
        }
        if !self.outward.is_empty() {
            writeln!(to, "~ uplinks: {}", joined(&self.outward))?;
        }
        named(to, "uplink", &self.uplinks)?;
        if !self.name_server.is_empty() {
            writeln!(to, "~ names: {}", joined(&self.name_server))?;
        }
        named(to, "zone", &self.zones)?;
        named(to, "name", &self.names)
    }
}

/// Objects that only have keys.
fn named<K: fmt::Display>(
    to: &mut fmt::Formatter<'_>,
    what: &str,
    changes: &Changes<Vec<K>>,
) -> fmt::Result {
    ends(to, what, changes)?;
    changes
        .changed
        .iter()
        .try_for_each(|(name, keys)| writeln!(to, "~ {what} {name}: {}", joined(keys)))
}

fn ends<C>(to: &mut fmt::Formatter<'_>, what: &str, changes: &Changes<C>) -> fmt::Result {
    let glue = if what.starts_with("server ") { "/" } else { " " };
    for name in &changes.removed {
        writeln!(to, "- {what}{glue}{name}")?;
    }
    for name in &changes.added {
        writeln!(to, "+ {what}{glue}{name}")?;
    }
    Ok(())
}

fn joined(keys: &[impl fmt::Display]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
