//! One cluster: its servers, its policy, its limits, and TLS towards it.

use crate::document::TomlTable;
use crate::duration::{TimeSetting, format_duration};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::default_times::{CONNECT_MS, IDLE_MS};
use super::endpoints::{EndpointList, read_endpoints};
use super::fields::settle_rest;
use super::health::{write_ejection, write_probe};
use super::reader::{
    leave_out, note_changed, take_flag, take_number, take_text, take_time, take_type,
};
use super::secrets::StaticSecrets;
use super::upstream_tls::{UpstreamSocket, read_socket};

/// A cluster, ready to be written.
pub struct ClusterPool {
    pub source: SourcePlace,
    pub directive: String,
    /// The pool's own keys.
    pub table: TomlTable,
    pub connect: TimeSetting,
    pub idle: TimeSetting,
    pub tls: Option<TomlTable>,
    /// The host name of the only server.
    pub host_name: Option<String>,
    /// Routes may ask for servers with certain metadata.
    pub has_subsets: bool,
    /// No pool can be written.
    pub unusable: bool,
}

pub fn read_cluster(
    name: &str,
    node: &ConfigNode,
    secrets: &StaticSecrets<'_>,
    notes: &mut ConversionNotes,
) -> ClusterPool {
    let text = format!("cluster {name}");
    let mut pool = ClusterPool {
        source: node.source,
        table: TomlTable::new("pool.x", node.source, &text),
        directive: text,
        connect: take_time(node, "connect_timeout", notes).unwrap_or(default_time(CONNECT_MS)),
        idle: default_time(IDLE_MS),
        tls: None,
        host_name: None,
        has_subsets: false,
        unusable: false,
    };
    let found = is_in_file(node, notes).then(|| read_endpoints(node, notes)).flatten();
    write_balance(node, &mut pool, notes);
    write_breakers(node, &mut pool.table, notes);
    write_protocol(node, &mut pool, notes);
    write_connections(node, &mut pool.table, notes);
    let socket = read_socket(node, secrets, notes);
    pool.unusable |= socket.is_unusable;
    read_subsets(node, &mut pool, notes);
    write_socket(&socket, &mut pool);
    let check_port = found.as_ref().and_then(|found| found.check_port);
    let probed = write_probe(name, check_port, node, &mut pool.table, notes);
    if !probed && pool.tls.is_some() {
        pool.table.set("probe", value::quote("off"), SourcePlace::NONE);
    }
    match found {
        Some(found) => {
            write_ejection(node, found.servers.len(), &mut pool.table, notes);
            pool.host_name.clone_from(&found.host_name);
            write_servers(found, &mut pool.table);
        }
        None => pool.unusable = true,
    }
    settle_rest("cluster", node, notes);
    if pool.unusable {
        let reason = "no pool can be written of it: requests for it are refused";
        notes.left_out(
            node.source.whole(),
            &pool.directive,
            reason,
            "`[pool.NAME]` with its servers",
        );
    }
    pool
}

fn default_time(ms: u64) -> TimeSetting {
    TimeSetting { ms, source: SourcePlace::NONE }
}

/// Whether the servers of the cluster stand in the file.
fn is_in_file(node: &ConfigNode, notes: &mut ConversionNotes) -> bool {
    if let Some(kind) = node.get("cluster_type") {
        leave_out(kind, "servers are found by an extension", "`servers` or `servers-from`", notes);
        return false;
    }
    match take_text(node, "type", notes).unwrap_or("STATIC") {
        "STATIC" | "STRICT_DNS" | "LOGICAL_DNS" | "0" | "1" | "2" => true,
        _ => {
            if let Some(kind) = node.get("type") {
                let reason = "the servers are not in the file";
                leave_out(kind, reason, "`servers`, or `servers-from` with DNS or a file", notes);
            }
            false
        }
    }
}

/// `lb_subset_config`: without metadata in a route, no server is chosen unless the policy says so.
fn read_subsets(node: &ConfigNode, pool: &mut ClusterPool, notes: &mut ConversionNotes) {
    let subsets = node.get("lb_subset_config");
    let selectors = subsets.and_then(|one| one.get("subset_selectors"));
    let Some(subsets) = subsets.filter(|_| selectors.is_some_and(|one| !one.is_empty())) else {
        return;
    };
    let fallback = subsets.text_of("fallback_policy").unwrap_or("NO_FALLBACK");
    pool.has_subsets = true;
    pool.unusable |= !matches!(fallback, "ANY_ENDPOINT" | "1");
    let reason = "servers have no metadata: routes that ask for some of them are refused";
    leave_out(subsets, reason, "a pool for each subset", notes);
}

fn write_servers(found: EndpointList, table: &mut TomlTable) {
    if let Some(dns) = found.from_dns {
        table.set("servers-from", dns.value, dns.source);
    }
    let several = found.priorities > 1;
    for server in found.servers {
        table.push_item("servers", server.value, server.source);
    }
    if several {
        // A priority takes all of the work while its capacity times the factor is enough.
        let percent = 10_000_u64.div_ceil(found.overprovisioning.max(100)).min(100);
        table.set("spill-over", percent.to_string(), SourcePlace::NONE);
    }
}

fn write_balance(node: &ConfigNode, pool: &mut ClusterPool, notes: &mut ConversionNotes) {
    let mut source = node.get("lb_policy").map_or(SourcePlace::NONE, |field| field.source);
    let mut policy = take_text(node, "lb_policy", notes).unwrap_or("ROUND_ROBIN").to_owned();
    if let Some(field) = node.get("load_balancing_policy") {
        let policies = field.get("policies").map(ConfigNode::items).unwrap_or_default();
        let config = policies.first().and_then(|one| one.get("typed_extension_config"));
        let kind = config.and_then(|one| one.get("typed_config")).map(|one| take_type(one, notes));
        policy = kind.unwrap_or_default().to_owned();
        pool.unusable |= policy == "Subset";
        source = field.source;
        note_changed(
            field,
            "details of policies are those of `balance`",
            "`balance` of the pool",
            notes,
        );
    }
    let table = &mut pool.table;
    let by = match policy.as_str() {
        "ROUND_ROBIN" | "RoundRobin" | "0" => "round-robin",
        "LEAST_REQUEST" | "LeastRequest" | "1" => "least-request",
        "RING_HASH" | "RingHash" | "MAGLEV" | "Maglev" | "2" | "5" => "maglev",
        "RANDOM" | "Random" | "3" => "random",
        _ => {
            let reason = "there is no such policy";
            notes.left_out(source, &policy, reason, "`balance` of the pool");
            "least-request"
        }
    };
    if matches!(policy.as_str(), "RING_HASH" | "RingHash") {
        let reason = "hashing is consistent by Maglev's table: clients are shared out anew once";
        notes.changed(source, &policy, reason, "");
    }
    let config = node.get("maglev_lb_config");
    let size = config.and_then(|config| take_number(config, "table_size", notes));
    let value = match size.filter(|_| by == "maglev") {
        Some(size) => value::table(&[
            KeyValue::new("by", value::quote(by)),
            KeyValue::new("size", size.to_string()),
        ]),
        None => value::quote(by),
    };
    table.set("balance", value, source);
    if let Some(start) = node.get("slow_start_config") {
        note_changed(
            start,
            "the share grows evenly from a tenth",
            "`slow-start` of the pool",
            notes,
        );
        if let Some(window) = take_time(start, "slow_start_window", notes) {
            table.set("slow-start", format_duration(window.ms.max(1_000)), window.source);
        }
    }
    // Below half of its healthy servers Envoy uses all of them.
    let panic = node.get("common_lb_config").and_then(|one| one.get("healthy_panic_threshold"));
    let off =
        panic.and_then(|one| take_number(one, "value", notes)).is_some_and(|value| value == 0);
    if !off {
        table.set("all-down", value::quote("spread"), SourcePlace::NONE);
    }
}

/// `circuit_breakers`, with Envoy's own limits where the file has none.
fn write_breakers(node: &ConfigNode, table: &mut TomlTable, notes: &mut ConversionNotes) {
    let field = node.get("circuit_breakers");
    let thresholds = field.and_then(|field| field.get("thresholds")).map(ConfigNode::items);
    let mut limits = [
        KeyValue::new("connections", "1024"),
        KeyValue::new("pending", "1024"),
        KeyValue::new("requests", "1024"),
        KeyValue::new("retries", "3"),
    ];
    for threshold in thresholds.unwrap_or_default() {
        let priority = take_text(threshold, "priority", notes).unwrap_or("DEFAULT");
        if !matches!(priority, "DEFAULT" | "0") {
            let reason = "one set of circuit breakers stands for all priorities";
            leave_out(threshold, reason, "`circuit-breaker` of the pool", notes);
            continue;
        }
        let keys = ["max_connections", "max_pending_requests", "max_requests", "max_retries"];
        for (limit, key) in limits.iter_mut().zip(keys) {
            let Some(number) = take_number(threshold, key, notes) else { continue };
            limit.value = match number {
                // The limits of Envoy that stand for none.
                number if number > 10_000_000 => value::quote("off"),
                number => number.to_string(),
            };
        }
        if let Some(budget) = threshold.get("retry_budget") {
            leave_out(
                budget,
                "the budget of further attempts is that of the pool",
                "`retry.budget`",
                notes,
            );
        }
        settle_rest("circuit_breakers", threshold, notes);
    }
    table.set(
        "circuit-breaker",
        value::table(&limits),
        field.map_or(SourcePlace::NONE, |field| field.source),
    );
    let per_host = field.and_then(|field| field.get("per_host_thresholds")).map(ConfigNode::items);
    for threshold in per_host.unwrap_or_default() {
        if let Some(most) = take_number(threshold, "max_connections", notes) {
            table.set("connections", most.to_string(), threshold.source);
        }
    }
}

/// Protocols towards servers: options of the cluster itself, or those of `HttpProtocolOptions`.
fn write_protocol(node: &ConfigNode, pool: &mut ClusterPool, notes: &mut ConversionNotes) {
    let table = &mut pool.table;
    let mut http2 = node.get("http2_protocol_options");
    let mut speak = "only";
    let extensions = node.get("typed_extension_protocol_options");
    let options = extensions
        .and_then(|one| one.get("envoy.extensions.upstreams.http.v3.HttpProtocolOptions"));
    let mut common = node.get("common_http_protocol_options");
    if let Some(options) = options {
        take_type(options, notes);
        common = options.get("common_http_protocol_options").or(common);
        let explicit = options.get("explicit_http_config");
        http2 = explicit.and_then(|one| one.get("http2_protocol_options")).or(http2);
        if let Some(plain) = explicit.and_then(|one| one.get("http_protocol_options")) {
            note_changed(plain, "HTTP/1.1 is spoken in the usual form", "", notes);
        }
        for key in ["auto_config", "use_downstream_protocol_config"] {
            if let Some(auto) = options.get(key) {
                let reason = "HTTP/2 is spoken where a server takes it up under TLS, else HTTP/1.1";
                note_changed(auto, reason, "`http2` of the pool", notes);
                if auto.has("http2_protocol_options") {
                    table.set("http2", value::quote("prefer"), auto.source);
                    speak = "prefer";
                }
            }
        }
        if let Some(filters) = options.get("http_filters").filter(|one| !one.is_empty()) {
            leave_out(filters, "a pool has no filters: nothing is sent to it", "", notes);
            pool.unusable = true;
        }
        if let Some(names) = options.get("upstream_http_protocol_options") {
            let reason = "the name in TLS is the pool's `tls.name`, or the server's own";
            note_changed(names, reason, "`tls.name` of the pool", notes);
        }
    }
    if let Some(http2) = http2 {
        let mut pairs = vec![KeyValue::new("mode", value::quote(speak))];
        if let Some(most) = take_number(http2, "max_concurrent_streams", notes) {
            pairs.push(KeyValue::new("streams", most.clamp(1, 10_000).to_string()));
        }
        for (from, to) in [
            ("initial_stream_window_size", "window"),
            ("initial_connection_window_size", "max-window"),
        ] {
            if let Some(bytes) = take_number(http2, from, notes) {
                pairs.push(KeyValue::new(to, value::quote(&format!("{}B", bytes.max(65_535)))));
            }
        }
        settle_rest("http2_protocol_options", http2, notes);
        notes.converted(http2.source);
        table.set("http2", value::table(&pairs), http2.source);
    }
    if let Some(common) = common {
        if let Some(idle) = take_time(common, "idle_timeout", notes) {
            // 0 means that connections stay open.
            pool.idle =
                if idle.ms == 0 { TimeSetting { ms: 7 * 86_400_000, ..idle } } else { idle };
        }
        settle_rest("common_http_protocol_options", common, notes);
    }
}

/// Addresses and signs of life of connections.
fn write_connections(node: &ConfigNode, table: &mut TomlTable, notes: &mut ConversionNotes) {
    let options = node.get("upstream_connection_options");
    if let Some(alive) = options.and_then(|options| options.get("tcp_keepalive")) {
        let mut pairs = Vec::new();
        for (from, to, unit) in [
            ("keepalive_time", "idle", "s"),
            ("keepalive_interval", "interval", "s"),
            ("keepalive_probes", "count", ""),
        ] {
            if let Some(number) = take_number(alive, from, notes) {
                let text = format!("{number}{unit}");
                let text = if unit.is_empty() { text } else { value::quote(&text) };
                pairs.push(KeyValue::new(to, text));
            }
        }
        if !pairs.is_empty() {
            let inner = value::table(&pairs);
            table.set("socket", value::table(&[KeyValue::new("keep-alive", inner)]), alive.source);
        }
    }
    if let Some(bind) = node.get("upstream_bind_config") {
        let address = bind.get("source_address");
        let port = address.and_then(|one| take_number(one, "port_value", notes)).unwrap_or(0);
        match address.and_then(|one| take_text(one, "address", notes)) {
            Some(address) if port == 0 => table.set("source", value::quote(address), bind.source),
            _ => leave_out(
                bind,
                "a source is an address without port",
                "`source` of the pool",
                notes,
            ),
        }
        take_flag(bind, "freebind", notes);
    }
}

fn write_socket(socket: &UpstreamSocket, pool: &mut ClusterPool) {
    pool.tls.clone_from(&socket.tls);
    if let Some(version) = &socket.send_proxy {
        pool.table.set("send-proxy", value::quote(&version.value), version.source);
    }
}
