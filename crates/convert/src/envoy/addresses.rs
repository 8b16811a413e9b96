//! Where a listener listens, and what comes before its filter chains.

use crate::document::{SourcedValue, TomlTable};
use crate::duration::format_duration;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::fields::settle_rest;
use super::reader::{leave_out, note_changed, take_flag, take_number, take_text, take_time};
use super::strings::extension_type;

/// The addresses of a listener. `None` if one of them is none of a service.
pub fn read_addresses(node: &ConfigNode, notes: &mut ConversionNotes) -> Option<Vec<SourcedValue>> {
    if take_flag(node, "bind_to_port", notes) == Some(false) {
        return None;
    }
    if let Some(udp) = node.get("udp_listener_config") {
        leave_out(
            udp,
            "UDP is forwarded packet by packet",
            "a service with `protocol = \"udp\"`",
            notes,
        );
        return None;
    }
    let mut found = vec![read_address(node.get("address")?, notes)?];
    for item in node.get("additional_addresses").map(ConfigNode::items).unwrap_or_default() {
        found.push(read_address(item.get("address")?, notes)?);
        for other in item.unread_entries() {
            leave_out(other, "all addresses of a service have the same sockets", "", notes);
        }
    }
    Some(found)
}

fn read_address(field: &ConfigNode, notes: &mut ConversionNotes) -> Option<SourcedValue> {
    let socket = field.get("socket_address")?;
    let address = take_text(socket, "address", notes)?;
    let port = take_number(socket, "port_value", notes)?;
    let protocol = take_text(socket, "protocol", notes).unwrap_or("TCP");
    let both = take_flag(socket, "ipv4_compat", notes).unwrap_or(false);
    settle_rest("socket_address", socket, notes);
    if !matches!(protocol, "TCP" | "0") || port == 0 {
        return None;
    }
    let value = match address {
        "::" if both => format!(":{port}"),
        six if six.contains(':') => format!("[{six}]:{port}"),
        four => format!("{four}:{port}"),
    };
    Some(SourcedValue { value, source: socket.source })
}

/// What stands before the filter chains.
#[derive(Default)]
pub struct ListenerFilters {
    /// The value of `accept-proxy`.
    pub accept_proxy: Option<SourcedValue>,
}

/// Reads the listener filters. `None` if one of them chooses where connections go.
pub fn read_listener_filters(
    node: &ConfigNode,
    notes: &mut ConversionNotes,
) -> Option<ListenerFilters> {
    let mut found = ListenerFilters::default();
    let time = take_time(node, "listener_filters_timeout", notes);
    for filter in node.get("listener_filters").map(ConfigNode::items).unwrap_or_default() {
        let name = take_text(filter, "name", notes).unwrap_or_default();
        let kind = extension_type(filter, notes);
        let kind = if kind.is_empty() { name.rsplit('.').next().unwrap_or_default() } else { kind };
        let config = filter.get("typed_config");
        match kind {
            "TlsInspector" | "tls_inspector" | "HttpInspector" | "http_inspector" => {
                for other in config.into_iter().flat_map(ConfigNode::unread_entries) {
                    note_changed(
                        other,
                        "the beginning of a connection is read where rules need it",
                        "",
                        notes,
                    );
                }
            }
            "ProxyProtocol" | "proxy_protocol" => {
                // Without the header Envoy refuses a connection, whoever it comes from.
                let any = value::list(["0.0.0.0/0", "::/0"].map(value::quote));
                let mut pairs = vec![KeyValue::new("from", any)];
                if let Some(time) = time.filter(|time| time.ms > 0) {
                    pairs.push(KeyValue::new("timeout", format_duration(time.ms.min(60_000))));
                }
                found.accept_proxy =
                    Some(SourcedValue { value: value::table(&pairs), source: filter.source });
                let reason = "every address may name another client";
                notes.changed(
                    filter.source,
                    "proxy_protocol",
                    reason,
                    "`accept-proxy.from` with the proxies' networks",
                );
                for other in config.into_iter().flat_map(ConfigNode::unread_entries) {
                    leave_out(
                        other,
                        "each connection begins with the header",
                        "`accept-proxy`",
                        notes,
                    );
                }
            }
            _ => {
                leave_out(filter, "there is no such listener filter", "", notes);
                return None;
            }
        }
    }
    let original = take_flag(node, "use_original_dst", notes) == Some(true);
    let keys = ["internal_listener", "api_listener", "filter_chain_matcher"];
    let chooser = keys.iter().filter_map(|key| node.get(key)).next();
    if let Some(field) = chooser.or(node.get("use_original_dst").filter(|_| original)) {
        leave_out(field, "where connections go is not in the listener's chains", "", notes);
        return None;
    }
    Some(found)
}

/// Settings of the listening socket.
pub fn write_socket(node: &ConfigNode, table: &mut TomlTable, notes: &mut ConversionNotes) {
    let mut pairs = Vec::new();
    let mut sources = Vec::new();
    if take_flag(node, "transparent", notes) == Some(true) {
        pairs.push(KeyValue::new("transparent", "true"));
    }
    for (from, to, most) in [
        ("tcp_fast_open_queue_length", "fast-open", 65_535),
        ("tcp_backlog_size", "backlog", 65_535),
    ] {
        if let Some(number) = take_number(node, from, notes).filter(|number| *number > 0) {
            pairs.push(KeyValue::new(to, number.min(most).to_string()));
            sources.extend(node.get(from).map(|field| field.source));
        }
    }
    let source = sources.first().copied().unwrap_or(node.source);
    if !pairs.is_empty() {
        table.set("socket", value::table(&pairs), source);
    }
    if let Some(field) = node.get("per_connection_buffer_limit_bytes") {
        note_changed(
            field,
            "a connection holds a bounded number of bytes in any case",
            "`limit.connection-bytes`",
            notes,
        );
    }
}
