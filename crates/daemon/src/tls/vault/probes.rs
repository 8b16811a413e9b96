//! Files that probes have for a TLS of their own. A bad one ends no service: its probes cannot be made, which is told.

use std::collections::HashSet;
use std::time::SystemTime;

use model::config::{Config, ProbeTls};

use crate::tls::authorities::Authorities;
use crate::tls::files::{self, FileError};
use crate::tls::trusted::revoked;

/// What is wrong with them, a sentence each.
pub(super) fn troubles(config: &Config, now: SystemTime) -> Vec<String> {
    let mut troubles = Vec::new();
    for (name, pool) in &config.pools {
        // What they have from their pool was read for it.
        let own = pool.tls.as_ref().map(ProbeTls::of_pool);
        let servers = pool.servers.iter().filter_map(|server| server.probe.as_ref());
        let all: HashSet<&ProbeTls> = (pool.probe.iter().chain(servers))
            .filter_map(|probe| probe.tls.as_ref())
            .filter(|tls| Some(*tls) != own.as_ref())
            .collect();
        for tls in all {
            if let Err(why) = open(tls, now, &mut troubles) {
                troubles.push(format!("pool.{name}.probe.tls: {why}; its probes cannot be made"));
            }
        }
    }
    troubles.sort();
    troubles
}

fn open(tls: &ProbeTls, now: SystemTime, warnings: &mut Vec<String>) -> Result<(), FileError> {
    Authorities::read(tls.verify, tls.ca.as_deref())?;
    revoked(&tls.revoked, now, warnings, |_, _| ())?;
    tls.certificate.as_deref().map(files::pair).transpose()?;
    Ok(())
}
