//! `http_connection_manager`: what a service of requests does beside its rules.

use crate::document::SourcedValue;
use crate::duration::{TimeSetting, format_duration};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::access_log::read_logs;
use super::clusters::ClusterPools;
use super::default_times::{IDLE_MS, NEVER_MS, STREAM_IDLE_MS};
use super::early_edits::{EarlyEdits, forwarded_fields, source_of};
use super::fields::settle_rest;
use super::header_edits::HeaderEditList;
use super::host_names::PortTreatment;
use super::http_filters::{FilterEffects, HttpFilterPlace};
use super::own_fields::report_own_fields;
use super::rbac::AddressSight;
use super::reader::{leave_out, note_changed, take_flag, take_number, take_text, take_time};
use super::route_scope::RouteContext;
use super::routes::read_rules;
use super::rule::EnvoyRule;
use super::upgrades::UpgradePolicy;

/// A key of a service: in its own table, or in `timeout` or `limit`.
#[derive(Clone, Debug)]
pub struct ServiceKey {
    pub table: &'static str,
    pub key: &'static str,
    pub value: String,
    pub source: SourcePlace,
}

/// The keys and the rules of one connection manager.
#[derive(Default)]
pub struct HttpService {
    pub keys: Vec<ServiceKey>,
    pub rules: Vec<EnvoyRule>,
    /// Edits that come before the rules.
    pub early: EarlyEdits,
}

impl HttpService {
    fn set(&mut self, table: &'static str, key: &'static str, value: String, source: SourcePlace) {
        self.keys.push(ServiceKey { table, key, value, source });
    }
}

/// What a connection manager stands in.
pub struct ManagerPlace<'c> {
    pub pools: &'c mut ClusterPools,
    pub access_log: &'c mut Option<SourcedValue>,
    pub tls: bool,
    /// Connections begin with a PROXY header.
    pub accepts_proxy: bool,
    /// HTTP/2 is offered in the TLS handshake.
    pub offers_http2: bool,
}

/// Reads a connection manager. `None` if its routes are not in the file.
pub fn read_manager(
    node: &ConfigNode,
    place: ManagerPlace<'_>,
    notes: &mut ConversionNotes,
) -> Option<HttpService> {
    let mut service = HttpService::default();
    let uses_remote = take_flag(node, "use_remote_address", notes).unwrap_or(false);
    let hops = take_number(node, "xff_num_trusted_hops", notes).unwrap_or(0);
    let filters = node.get("http_filters").map(ConfigNode::items).unwrap_or_default();
    let sight =
        AddressSight { hides_clients: !uses_remote || hops > 0, hides_peers: place.accepts_proxy };
    let mut early = EarlyEdits::read(node, uses_remote, hops, notes);
    service.set("", "forwarded", forwarded_fields(node, uses_remote, hops, notes), source_of(node));
    let around = HttpFilterPlace { sight, hidden: &early.hidden, config: node.get("route_config") };
    let effects = FilterEffects::read(filters, around, notes);
    for entry in &effects.service {
        service.set("", entry.key, entry.value.clone(), entry.source);
    }
    let mut edits = HeaderEditList::default();
    report_own_fields(node, uses_remote, &mut edits, notes);
    write_server_name(node, &mut edits, notes);
    let stream_idle = write_times(node, &mut service, notes);
    write_limits(node, &mut service, notes);
    write_protocols(node, place.tls, place.offers_http2, &mut service, notes);
    write_paths(node, &mut service, notes);
    let ports = port_treatment(node, notes);
    let upgrades = UpgradePolicy::read(node, notes);
    if let Some(log) = read_logs(node, notes) {
        place.access_log.get_or_insert(log);
    }
    settle_rest("http_connection_manager", node, notes);
    for key in ["rds", "scoped_routes"] {
        if let Some(field) = node.get(key) {
            leave_out(field, "the routes are not in the file", "write them into the file", notes);
            return None;
        }
    }
    let config = node.get("route_config")?;
    let tls = place.tls;
    early.hidden.extend(effects.written.clone());
    edits.changes_target |= early.edits.changes_target;
    let mut context = RouteContext {
        pools: place.pools,
        effects,
        edits,
        hidden: early.hidden.clone(),
        stream_idle,
        tls,
        trusts_scheme: !uses_remote || hops > 0,
        upgrades,
        config,
        strips_port: ports != PortTreatment::Compared,
        ports,
        nearest_wins: false,
    };
    if let Some(rule) = upgrades.refusal(node.source) {
        context.effects.rules.insert(0, rule);
    }
    service.rules = read_rules(&mut context, notes);
    service.early = early;
    Some(service)
}

fn write_server_name(node: &ConfigNode, edits: &mut HeaderEditList, notes: &mut ConversionNotes) {
    let name = take_text(node, "server_name", notes).unwrap_or("envoy");
    match take_text(node, "server_header_transformation", notes).unwrap_or("OVERWRITE") {
        "PASS_THROUGH" | "2" => {}
        "OVERWRITE" | "0" => edits.answer.set_field(format!("server: {name}")),
        _ => {
            if let Some(field) = node.get("server_header_transformation") {
                note_changed(
                    field,
                    "answers keep the Server of their server",
                    "`rewrite.response-set`",
                    notes,
                );
            }
        }
    }
}

/// Times towards clients. Returns the one between two bytes of a stream.
fn write_times(
    node: &ConfigNode,
    service: &mut HttpService,
    notes: &mut ConversionNotes,
) -> TimeSetting {
    let never = |time: TimeSetting| match time.ms {
        0 => TimeSetting { ms: NEVER_MS, ..time },
        ms => TimeSetting { ms: ms.min(NEVER_MS), ..time },
    };
    let default = |ms: u64| TimeSetting { ms, source: SourcePlace::NONE };
    let stream =
        never(take_time(node, "stream_idle_timeout", notes).unwrap_or(default(STREAM_IDLE_MS)));
    let common = node.get("common_http_protocol_options");
    let idle = common
        .and_then(|common| take_time(common, "idle_timeout", notes))
        .or_else(|| take_time(node, "idle_timeout", notes));
    let idle = never(idle.unwrap_or(default(IDLE_MS)));
    service.set("timeout", "idle", format_duration(idle.ms), idle.source);
    service.set("timeout", "between-bytes", format_duration(stream.ms), stream.source);
    service.set("timeout", "tunnel", format_duration(stream.ms), stream.source);
    if let Some(header) =
        take_time(node, "request_headers_timeout", notes).filter(|time| time.ms > 0)
    {
        service.set("timeout", "header", format_duration(header.ms.min(NEVER_MS)), header.source);
    }
    if let Some(drain) = take_time(node, "drain_timeout", notes).filter(|time| time.ms > 0) {
        service.set("timeout", "drain", format_duration(drain.ms.min(86_400_000)), drain.source);
    }
    stream
}

fn write_limits(node: &ConfigNode, service: &mut HttpService, notes: &mut ConversionNotes) {
    let field = node.get("max_request_headers_kb");
    let kib = take_number(node, "max_request_headers_kb", notes).unwrap_or(60);
    let source = field.map_or(SourcePlace::NONE, |field| field.source);
    if let Some(field) = field.filter(|_| kib > 60) {
        notes.changed(field.source, field.describe(), "a head has 60 KiB at most", "");
    }
    service.set("limit", "header-bytes", value::quote(&format!("{}KiB", kib.clamp(1, 60))), source);
    let Some(common) = node.get("common_http_protocol_options") else { return };
    if let Some(count) = take_number(common, "max_headers_count", notes) {
        let source = common.get("max_headers_count").map_or(common.source, |field| field.source);
        service.set("limit", "header-count", count.clamp(1, 256).to_string(), source);
    }
    let names = take_text(common, "headers_with_underscores_action", notes).unwrap_or("ALLOW");
    let source =
        common.get("headers_with_underscores_action").map_or(common.source, |field| field.source);
    match names {
        "REJECT_REQUEST" | "1" => {
            service.set("", "field-names", value::quote("refuse"), source);
            let reason = "names with other characters than letters, digits and - are refused too";
            notes.changed(source, "headers_with_underscores_action", reason, "`field-names`");
        }
        "DROP_HEADER" | "2" => service.set("", "field-names", value::quote("drop"), source),
        _ => {}
    }
    settle_rest("common_http_protocol_options", common, notes);
}

fn write_protocols(
    node: &ConfigNode,
    tls: bool,
    offers_http2: bool,
    service: &mut HttpService,
    notes: &mut ConversionNotes,
) {
    let codec = take_text(node, "codec_type", notes).unwrap_or("AUTO");
    let source = node.get("codec_type").map_or(SourcePlace::NONE, |field| field.source);
    let offer = match (codec, tls) {
        ("HTTP1" | "1", _) => "off",
        // Without TLS Envoy knows HTTP/2 by its first bytes.
        (_, false) => "always",
        (_, true) if offers_http2 => "tls",
        ("HTTP2" | "2", true) => "tls",
        (_, true) => "off",
    };
    let options = node.get("http2_protocol_options");
    let mut pairs = vec![KeyValue::new("offer", value::quote(offer))];
    if let Some(options) = options {
        if let Some(most) = take_number(options, "max_concurrent_streams", notes) {
            pairs.push(KeyValue::new("streams", most.clamp(1, 10_000).to_string()));
        }
        for (from, to) in [
            ("initial_stream_window_size", "window"),
            ("initial_connection_window_size", "max-window"),
        ] {
            if let Some(bytes) = take_number(options, from, notes) {
                pairs.push(KeyValue::new(to, value::quote(&format!("{}B", bytes.max(65_535)))));
            }
        }
        settle_rest("http2_protocol_options", options, notes);
        notes.converted(options.source);
    }
    let value = match &pairs[..] {
        [only] => only.value.clone(),
        several => value::table(several),
    };
    service.set("", "http2", value, source);
}

/// How paths are read.
fn write_paths(node: &ConfigNode, service: &mut HttpService, notes: &mut ConversionNotes) {
    let normal = take_flag(node, "normalize_path", notes).unwrap_or(false);
    let merges = take_flag(node, "merge_slashes", notes).unwrap_or(false);
    let escaped =
        take_text(node, "path_with_escaped_slashes_action", notes).unwrap_or("KEEP_UNCHANGED");
    for key in ["normalize_path", "merge_slashes"] {
        if let Some(field) = node.get(key).filter(|_| normal != merges) {
            let reason = "servers get the normal form of a path, in which several slashes are one";
            notes.changed(field.source, field.describe(), reason, "`path-normalization`");
        }
    }
    let source = node.get("normalize_path").or_else(|| node.get("merge_slashes"));
    let source = source.map_or(SourcePlace::NONE, |field| field.source);
    match (escaped, normal || merges) {
        ("REJECT_REQUEST" | "2", _) => {
            service.set("", "path-normalization", value::quote("refuse"), source);
            if let Some(field) = node.get("path_with_escaped_slashes_action") {
                let reason = "every path that servers may read in several ways is refused";
                note_changed(field, reason, "`path-normalization`", notes);
            }
        }
        (_, true) => service.set("", "path-normalization", value::quote("normal-form"), source),
        (_, false) => {}
    }
    if let Some(field) = node
        .get("path_with_escaped_slashes_action")
        .filter(|_| !matches!(escaped, "REJECT_REQUEST" | "2"))
    {
        let reason = "rules are asked for each reading of an escaped slash, and the slash stays";
        note_changed(field, reason, "`path-normalization`", notes);
    }
}

fn port_treatment(node: &ConfigNode, notes: &mut ConversionNotes) -> PortTreatment {
    let any = take_flag(node, "strip_any_host_port", notes).unwrap_or(false);
    let matching = take_flag(node, "strip_matching_host_port", notes).unwrap_or(false);
    if let Some(field) = node.get("strip_matching_host_port").filter(|_| matching) {
        notes.changed(field.source, field.describe(), "servers get the host without any port", "");
    }
    if let Some(field) = node.get("strip_trailing_host_dot") {
        note_changed(field, "a dot at the end of a host does not count for rules", "", notes);
    }
    match (any, matching) {
        (true, _) => PortTreatment::Dropped,
        (false, true) => PortTreatment::DroppedIfOwn,
        (false, false) => PortTreatment::Compared,
    }
}
