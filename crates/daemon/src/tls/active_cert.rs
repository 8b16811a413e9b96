//! One active certificate with the file that it came from, and the effect of a change of that file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use l7::tls::identity::TlsIdentity;

use super::cert_files::{self, CertificatePair};
use crate::state::cert_status::{CertificateInfo, format_date, from_unix_seconds};

#[derive(Clone, Debug)]
pub(super) struct ActiveCertificate {
    pub file: PathBuf,
    pub identity: Arc<TlsIdentity>,
    pub active_since: SystemTime,
    pub last_error: Option<String>,
}

impl ActiveCertificate {
    pub(super) fn info(&self) -> CertificateInfo {
        let facts = &self.identity.facts;
        CertificateInfo {
            file: self.file.clone(),
            names: facts.names.clone(),
            kind: facts.kind,
            not_after: from_unix_seconds(facts.not_after),
            lifetime: from_unix_seconds(facts.not_after)
                .duration_since(from_unix_seconds(facts.not_before))
                .unwrap_or_default(),
            stapled: facts.stapled,
            active_since: self.active_since,
            last_error: self.last_error.clone(),
        }
    }
}

/// A file's certificate, if it may take the place of the one before.
pub(super) fn accept_renewed(
    file: &Path,
    old: Option<&ActiveCertificate>,
    now: SystemTime,
) -> Result<ActiveCertificate, String> {
    let CertificatePair { identity } =
        cert_files::read_pair(file).map_err(|why| why.to_string())?;
    let over = |identity: &TlsIdentity| from_unix_seconds(identity.facts.not_after) <= now;
    if over(&identity) && old.is_some_and(|old| !over(&old.identity)) {
        return Err(format!(
            "{}: its new certificate has expired, the active one has not",
            file.display()
        ));
    }
    match old {
        Some(old) if old.identity.is_same(&identity) => {
            Ok(ActiveCertificate { last_error: None, ..old.clone() })
        }
        _ => Ok(ActiveCertificate {
            file: file.to_owned(),
            identity: Arc::new(identity),
            active_since: now,
            last_error: None,
        }),
    }
}

/// The change of a certificate, as a sentence; `None`: there is none.
pub(super) fn describe_difference(
    old: Option<&ActiveCertificate>,
    new: &ActiveCertificate,
) -> Option<String> {
    let file = new.file.display();
    let facts = &new.identity.facts;
    let until = format_date(facts.not_after);
    let names = |names: &[String]| names.join(", ");
    let Some(old) = old else {
        return Some(format!("{file} is new: {}, good until {until}", names(&facts.names)));
    };
    if Arc::ptr_eq(&old.identity, &new.identity) {
        return None;
    }
    let before = &old.identity.facts.names;
    let only = |these: &[String], those: &[String]| {
        let only = these.iter().filter(|name| !those.contains(name)).cloned();
        names(&only.collect::<Vec<_>>())
    };
    let mut sentence = format!("{file} was renewed for {}", names(&facts.names));
    for (word, which) in [("new", only(&facts.names, before)), ("gone", only(before, &facts.names))]
    {
        if !which.is_empty() {
            sentence.push_str(&format!("; {word}: {which}"));
        }
    }
    sentence.push_str(&format!("; good until {until}"));
    Some(sentence)
}
