//! The servers of a cluster.

use crate::document::SourcedValue;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::fields::settle_rest;
use super::reader::{leave_out, note_changed, take_number, take_text};

/// The servers of a cluster, in TOML.
pub struct EndpointList {
    pub servers: Vec<SourcedValue>,
    /// A name whose records are the servers.
    pub from_dns: Option<SourcedValue>,
    /// The number of priorities.
    pub priorities: usize,
    /// Percent of a priority's capacity that counts as available.
    pub overprovisioning: u64,
    /// The name of the only server.
    pub host_name: Option<String>,
    /// The port of all health checks.
    pub check_port: Option<u64>,
}

/// The address of a server.
struct EndpointAddress {
    host: String,
    port: u64,
    check_port: Option<u64>,
    /// The file drains or disables it.
    has_state: bool,
}

/// Servers of a `load_assignment`. `None` if there is none.
pub fn read_endpoints(node: &ConfigNode, notes: &mut ConversionNotes) -> Option<EndpointList> {
    let mut list = EndpointList {
        servers: Vec::new(),
        from_dns: None,
        priorities: 0,
        overprovisioning: 140,
        host_name: None,
        check_port: None,
    };
    let assignment = node.get("load_assignment");
    let policy = assignment.and_then(|one| one.get("policy"));
    if let Some(policy) = policy {
        let factor = take_number(policy, "overprovisioning_factor", notes);
        list.overprovisioning = factor.unwrap_or(140);
        for other in policy.unread_entries() {
            leave_out(other, "no work is dropped on purpose", "`load-shedding` of the pool", notes);
        }
    }
    if let Some(assignment) = assignment {
        settle_rest("load_assignment", assignment, notes);
    }
    let localities = assignment.and_then(|one| one.get("endpoints")).map(ConfigNode::items);
    let mut names = Vec::new();
    for locality in localities.unwrap_or_default() {
        let priority = take_number(locality, "priority", notes).unwrap_or(0) as usize;
        list.priorities = list.priorities.max(priority + 1);
        if priority > 8 {
            leave_out(locality, "there are nine priorities at most", "", notes);
            continue;
        }
        for endpoint in locality.get("lb_endpoints").map(ConfigNode::items).unwrap_or_default() {
            read_endpoint(endpoint, priority, &mut list, &mut names, notes);
        }
        settle_rest("locality_endpoints", locality, notes);
    }
    if let [only] = &names[..] {
        list.host_name = Some(only.host.clone());
        if is_looked_up(node) && list.servers.len() == 1 && !only.has_state {
            let source = list.servers.pop().map_or(SourcePlace::NONE, |server| server.source);
            list.check_port = only.check_port;
            let mut pairs = vec![
                KeyValue::new("dns", value::quote(&only.host)),
                KeyValue::new("port", only.port.to_string()),
            ];
            if node.text_of("dns_lookup_family") == Some("V6_ONLY") {
                pairs.push(KeyValue::new("type", value::quote("aaaa")));
            }
            list.from_dns = Some(SourcedValue { value: value::table(&pairs), source });
        }
    }
    if let Some(field) = node.get("type").filter(|_| is_looked_up(node) && names.len() > 1) {
        let reason = "each name is one server, whatever addresses it has";
        notes.changed(
            field.source,
            field.describe(),
            reason,
            "`servers-from` in a pool for each name",
        );
    }
    (!list.servers.is_empty() || list.from_dns.is_some()).then_some(list)
}

/// Whether each record of a name is a server.
fn is_looked_up(node: &ConfigNode) -> bool {
    matches!(node.text_of("type"), Some("STRICT_DNS" | "1"))
}

fn read_endpoint(
    node: &ConfigNode,
    priority: usize,
    list: &mut EndpointList,
    names: &mut Vec<EndpointAddress>,
    notes: &mut ConversionNotes,
) {
    let endpoint = node.get("endpoint");
    let address = endpoint.and_then(|endpoint| take_address(endpoint, notes));
    let mut pairs = Vec::new();
    let mut is_bare = true;
    if let Some(address) = &address {
        pairs.push(KeyValue::new("address", value::quote(address)));
    }
    if let Some(weight) = take_number(node, "load_balancing_weight", notes) {
        if weight > 256 {
            notes.changed(node.source, "load_balancing_weight", "the largest weight is 256", "");
        }
        pairs.push(KeyValue::new("weight", weight.min(256).to_string()));
        is_bare = false;
    }
    if priority > 0 {
        pairs.push(KeyValue::new("priority", (priority + 1).to_string()));
        is_bare = false;
    }
    let state = take_state(node, notes);
    if let Some(state) = state {
        pairs.push(KeyValue::new("state", value::quote(state)));
        is_bare = false;
    }
    let check_port = endpoint.and_then(|endpoint| take_check_port(endpoint, notes));
    if let Some(port) = check_port {
        let probe = value::table(&[KeyValue::new("port", port.to_string())]);
        pairs.push(KeyValue::new("probe", probe));
        is_bare = false;
    }
    settle_rest("lb_endpoint", node, notes);
    if let Some(endpoint) = endpoint {
        settle_rest("endpoint", endpoint, notes);
    }
    let Some(address) = address else {
        leave_out(
            node,
            "it has no address that a server can have",
            "a server with `address`",
            notes,
        );
        return;
    };
    if let Some((host, port)) = address.rsplit_once(':')
        && host.parse::<std::net::IpAddr>().is_err()
        && !host.starts_with('[')
        && let Ok(port) = port.parse()
        && !address.starts_with("unix:")
    {
        let host = host.to_owned();
        names.push(EndpointAddress { host, port, check_port, has_state: state.is_some() });
    }
    let value = if is_bare && !names_differ(&address) {
        value::quote(&address)
    } else {
        value::table(&pairs)
    };
    list.servers.push(SourcedValue { value, source: node.source });
}

/// Whether an address needs a table, because no short form exists.
fn names_differ(address: &str) -> bool {
    address.starts_with("unix:")
}

/// The port of a server's health checks.
fn take_check_port(endpoint: &ConfigNode, notes: &mut ConversionNotes) -> Option<u64> {
    let check = endpoint.get("health_check_config")?;
    let port = take_number(check, "port_value", notes);
    for other in check.unread_entries() {
        let reason = "a check goes to the server's address";
        note_changed(other, reason, "`probe.host` of the server", notes);
    }
    port
}

fn take_state(node: &ConfigNode, notes: &mut ConversionNotes) -> Option<&'static str> {
    match take_text(node, "health_status", notes)? {
        "UNHEALTHY" | "TIMEOUT" | "2" | "4" => Some("disabled"),
        "DRAINING" | "3" => Some("drain"),
        "UNKNOWN" | "HEALTHY" | "0" | "1" => None,
        _ => {
            if let Some(field) = node.get("health_status") {
                leave_out(
                    field,
                    "a server is enabled, drained or disabled",
                    "`state` of the server",
                    notes,
                );
            }
            None
        }
    }
}

/// `address:port` of an endpoint, or `unix:/path`.
fn take_address(endpoint: &ConfigNode, notes: &mut ConversionNotes) -> Option<String> {
    let address = endpoint.get("address")?;
    if let Some(pipe) = address.get("pipe") {
        let path = take_text(pipe, "path", notes)?;
        return path.starts_with(['/', '@']).then(|| format!("unix:{path}"));
    }
    let socket = address.get("socket_address")?;
    let host = take_text(socket, "address", notes)?;
    let port = take_number(socket, "port_value", notes)?;
    let protocol = take_text(socket, "protocol", notes).unwrap_or("TCP");
    settle_rest("socket_address", socket, notes);
    if !matches!(protocol, "TCP" | "0") {
        return None;
    }
    Some(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}
