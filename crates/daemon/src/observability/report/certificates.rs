//! Certificates as the status shows them, and what to warn of.

use std::time::SystemTime;

use api::types::CertificateStatus;

use crate::state::StateSnapshot;
use crate::state::cert_status::{CertificateInfo, expiry_warning};
use crate::tls::acme::status::AcmeOrderStatus;
use crate::util::wall_clock::unix_ms;

/// The certificates of a service.
pub fn service_certificates(snapshot: &StateSnapshot, service: &str) -> Vec<CertificateStatus> {
    snapshot.certificates.get(service).into_iter().flatten().map(status).collect()
}

/// Warnings that need an operator's action.
pub fn certificate_warnings(
    snapshot: &StateSnapshot,
    ordered: &[AcmeOrderStatus],
    now: SystemTime,
) -> Vec<String> {
    let mut warnings: Vec<String> = ordered.iter().filter_map(order_warning).collect();
    for (service, told) in &*snapshot.certificates {
        for told in told {
            let trouble = told.last_error.as_ref().map(|why| format!("not taken up: {why}"));
            let soon = snapshot.config.global.certificate_warning;
            let sentences = trouble.into_iter().chain(expiry_warning(told, soon, now));
            warnings.extend(sentences.map(|sentence| format!("service.{service}.tls: {sentence}")));
        }
    }
    warnings
}

/// A failing ACME order, with the authority's message.
fn order_warning(row: &AcmeOrderStatus) -> Option<String> {
    let why = row.trouble.as_ref()?;
    let names = row.names.join(", ");
    let next = row.next.map_or_else(
        || "an attempt is under way".to_owned(),
        |next| {
            let now = unix_ms(SystemTime::now()) / 1000;
            format!("next attempt in {} s", next.saturating_sub(now))
        },
    );
    let times = row.failures;
    Some(format!(
        "the certificate of {names} was not issued ({times} times in a row): {why}; {next}"
    ))
}

fn status(told: &CertificateInfo) -> CertificateStatus {
    CertificateStatus {
        file: told.file.display().to_string(),
        names: told.names.clone(),
        kind: told.kind.to_owned(),
        expires_unix_ms: unix_ms(told.not_after),
        stapled: told.stapled,
        since_unix_ms: unix_ms(told.active_since),
        problem: told.last_error.clone(),
    }
}
