//! Configurations in short, and in which parts two of them differ. Pure.
//!
//! Two members have the same services, pools, names and shared addresses; their own addresses, priorities, interfaces
//! and files differ by intent and are left out.

use std::io;

use aws_lc_rs::digest::{Context, SHA256};
use ha::heartbeat::PARTS;
use model::config::{Config, PoolConfig};
use serde::Serialize;

use super::message::ConfigDigests;

/// A digest of each part; never 0.
pub fn config_digests(config: &Config) -> ConfigDigests {
    let pools = config.pools.iter().map(|(name, pool)| {
        // A member's own source addresses may differ.
        (name, PoolConfig { source: Vec::new(), ..(**pool).clone() })
    });
    let groups = config.vrrp.values().map(|group| {
        let mut addresses: Vec<_> = group.floating_addresses().map(|(ip, _)| ip).collect();
        addresses.sort_unstable();
        (group.id, group.version, group.advertise, addresses)
    });
    let mut groups: Vec<_> = groups.collect();
    groups.sort_unstable();
    [
        digest_part(&config.services),
        digest_part(&pools.collect::<Vec<_>>()),
        match config.heartbeats.values().find_map(|beat| beat.witness.as_ref()) {
            Some(witness) => digest_part(&(groups, witness.by, witness.lease)),
            None => digest_part(&groups),
        },
        digest_part(&(&config.zones, &config.names)),
    ]
}

fn digest_part(part: &impl Serialize) -> u64 {
    let mut sum = DigestWriter(Context::new(&SHA256));
    // Nothing of a configuration cannot be written, and a sum takes everything.
    let _ = serde_json::to_writer(&mut sum, part);
    let digest = sum.0.finish();
    let first = digest.as_ref().first_chunk::<8>().copied().unwrap_or_default();
    u64::from_be_bytes(first).max(1)
}

/// The parts in which two configurations differ, where both are known; `None`: none.
pub fn differing_parts(ours: &ConfigDigests, theirs: &ConfigDigests) -> Option<String> {
    let parts = PARTS.iter().zip(ours.iter().zip(theirs));
    let differ = parts.filter(|(_, (ours, theirs))| **ours != 0 && **theirs != 0 && ours != theirs);
    let names: Vec<&str> = differ.map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

struct DigestWriter(Context);

impl io::Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(priority: u8, source: &str, server: &str, shared: &str) -> ConfigDigests {
        let text = format!(
            "[service.shop]\nlisten = \"{shared}:80\"\nforward = \"http\"\npool = \"web\"\n\
             [pool.web]\nsource = \"{source}\"\nservers = [\"{server}:80\"]\n\
             [vrrp.a]\ninterface = \"eth0\"\nid = 1\naddresses = \"{shared}\"\npriority = {priority}\n"
        );
        config_digests(&model::config::load(&text, "test.toml").unwrap().config)
    }

    #[test]
    fn what_differs_by_intent_is_no_drift_and_the_rest_is_named() {
        let ours = config(150, "10.0.0.1", "10.0.0.9", "192.0.2.10");
        assert_eq!(
            differing_parts(&ours, &config(100, "10.0.0.2", "10.0.0.9", "192.0.2.10")),
            None
        );
        let other = config(150, "10.0.0.1", "10.0.0.8", "192.0.2.10");
        assert_eq!(differing_parts(&ours, &other).as_deref(), Some("pools"));
        let other = config(150, "10.0.0.1", "10.0.0.9", "192.0.2.11");
        assert_eq!(differing_parts(&ours, &other).as_deref(), Some("services, shared addresses"));
        assert_eq!(differing_parts(&ours, &[0; PARTS.len()]), None, "not known yet");
    }
}
