//! Files of probes with TLS settings of their own. A bad one ends no service: its probes cannot run, which is reported.

use std::collections::HashSet;
use std::time::SystemTime;

use model::config::{Config, ProbeTls};

use crate::tls::cert_files::{self, CertFileError};
use crate::tls::client_trust::read_revocation_lists;
use crate::tls::trust_store::TrustStore;

/// The mistakes in the files, one sentence each.
pub(super) fn probe_file_errors(config: &Config, now: SystemTime) -> Vec<String> {
    let mut troubles = Vec::new();
    for (name, pool) in &config.pools {
        // Files inherited from the pool were read for the pool.
        let own = pool.tls.as_ref().map(ProbeTls::from_pool);
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

fn open(tls: &ProbeTls, now: SystemTime, warnings: &mut Vec<String>) -> Result<(), CertFileError> {
    TrustStore::read(tls.verify, tls.ca.as_deref())?;
    read_revocation_lists(&tls.revoked, now, warnings, |_, _| ())?;
    tls.certificate.as_deref().map(cert_files::read_pair).transpose()?;
    Ok(())
}
