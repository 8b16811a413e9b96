//! When certificates of services end, and what became of orders for them. Bounded: names and files of the configuration.

use std::fmt::Error;
use std::time::UNIX_EPOCH;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::family::{counters, gauges};
use crate::observability::report::report_sources::ProcessFacts;

pub(super) fn encode(facts: &ProcessFacts, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let rows = facts.certificates.iter().flat_map(|(service, all)| {
        all.iter().map(move |told| {
            let left = told.not_after.duration_since(UNIX_EPOCH).unwrap_or_default();
            ([("service", service.clone()), ("file", told.file.display().to_string())], left)
        })
    });
    let rows = rows.map(|(labels, left)| (labels, left.as_secs() as f64));
    let help = "Expiry time of a service's certificate, since 1970.";
    gauges(to, "steelyard_certificate_expiry", Some(Unit::Seconds), help, rows)?;
    let rows = facts.certificate_orders.iter().flat_map(|row| {
        let name = row.names.first().cloned().unwrap_or_default();
        [("issued", row.done), ("failed", row.failed)]
            .map(|(result, count)| ([("name", name.clone()), ("result", result.to_owned())], count))
    });
    let help = "Certificate orders (ACME) by result.";
    counters(to, "steelyard_acme_orders", None, help, rows)?;
    let rows = facts.certificate_orders.iter().map(|row| {
        let name = row.names.first().cloned().unwrap_or_default();
        ([("name", name)], f64::from(row.failures))
    });
    let help = "Failed orders of a certificate since the last successful one.";
    gauges(to, "steelyard_acme_failures", None, help, rows)
}
