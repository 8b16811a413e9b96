//! Certificates as the status shows them, and what to warn of.

use std::time::SystemTime;

use api::types::CertificateStatus;

use super::vitals::unix_ms;
use crate::control::Picture;
use crate::tls::told::{Told, ends_soon};

/// Those of a service.
pub fn of(picture: &Picture, service: &str) -> Vec<CertificateStatus> {
    picture.certificates.get(service).into_iter().flatten().map(status).collect()
}

/// What an operator should do something about.
pub fn warnings(picture: &Picture, now: SystemTime) -> Vec<String> {
    let mut warnings = Vec::new();
    for (service, told) in &*picture.certificates {
        for told in told {
            let trouble = told.trouble.as_ref().map(|why| format!("not taken up: {why}"));
            let soon = picture.config.global.certificate_warning;
            let sentences = trouble.into_iter().chain(ends_soon(told, soon, now));
            warnings.extend(sentences.map(|sentence| format!("service.{service}.tls: {sentence}")));
        }
    }
    warnings
}

fn status(told: &Told) -> CertificateStatus {
    CertificateStatus {
        file: told.file.display().to_string(),
        names: told.names.clone(),
        kind: told.kind.to_owned(),
        expires_unix_ms: unix_ms(told.not_after),
        stapled: told.stapled,
        since_unix_ms: unix_ms(told.since),
        trouble: told.trouble.clone(),
    }
}
