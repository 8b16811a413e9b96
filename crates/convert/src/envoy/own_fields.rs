//! Fields that Envoy writes and reads of its own: clients may not say them, and servers do not get them.

use crate::document::{Document, TomlTable};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value;

use super::field_group::TELEMETRY;
use super::header_edits::HeaderEditList;
use super::reader::{note_changed, take_flag};

/// What Envoy takes out of requests: before its routes where clients connect to it, and else when it has read them.
const TAKEN_OUT: [&str; 20] = [
    "x-envoy-attempt-count",
    "x-envoy-decorator-operation",
    "x-envoy-downstream-service-cluster",
    "x-envoy-downstream-service-node",
    "x-envoy-expected-rq-timeout-ms",
    "x-envoy-force-trace",
    "x-envoy-hedge-on-per-try-timeout",
    "x-envoy-ip-tags",
    "x-envoy-is-timeout-retry",
    "x-envoy-max-retries",
    "x-envoy-original-host",
    "x-envoy-original-path",
    "x-envoy-original-url",
    "x-envoy-retriable-header-names",
    "x-envoy-retriable-status-codes",
    "x-envoy-retry-grpc-on",
    "x-envoy-retry-on",
    "x-envoy-upstream-alt-stat-name",
    "x-envoy-upstream-rq-per-try-timeout-ms",
    "x-envoy-upstream-rq-timeout-ms",
];

/// Reports that such fields do nothing here, and removes the identifier of a client's request where Envoy replaces it.
pub fn report_own_fields(
    manager: &ConfigNode,
    uses_remote: bool,
    edits: &mut HeaderEditList,
    notes: &mut ConversionNotes,
) {
    let keeps_own = take_flag(manager, "preserve_external_request_id", notes) == Some(true);
    let generates = take_flag(manager, "generate_request_id", notes).unwrap_or(true);
    if uses_remote && !keeps_own && generates {
        edits.request.remove_field("x-request-id");
    }
    if let Some(field) = manager.get("generate_request_id").filter(|_| generates) {
        note_changed(field, "no identifier of requests is passed on", TELEMETRY, notes);
    }
    let reason = "nothing is said in Envoy's own fields: servers get no x-request-id, \
        x-envoy-expected-rq-timeout-ms, x-envoy-original-path, x-envoy-original-host, x-envoy-internal and x-envoy-external-address, clients no \
        x-envoy-upstream-service-time; times and retries that requests ask for, as by \
        x-envoy-upstream-rq-timeout-ms, are removed";
    notes.changed(
        manager.source,
        "http_connection_manager",
        reason,
        "`timeout` and `retry` of rules",
    );
}

/// Writes the removal of these fields before the rules of a service.
pub fn write_removal(service: &str, document: &mut Document) {
    let path = format!("service.{service}.edit");
    let text = "fields of Envoy's own";
    let mut table = TomlTable::one_of(path, SourcePlace::NONE, text);
    let names = value::list(TAKEN_OUT.map(value::quote));
    table.set("rewrite", format!("{{ remove = {names} }}"), SourcePlace::NONE);
    document.push(table);
}
