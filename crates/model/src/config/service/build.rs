//! Builds a service of the checked configuration.

use std::path::PathBuf;

use super::types::{ServiceConfig, ServiceLimits, ServiceTimeouts, TrustedProxies};
use crate::config::auth::ServiceAuthPlan;
use crate::config::body_limit::build_body_limit;
use crate::config::field_names::FieldNamePolicy;
use crate::config::forwarded_headers::build_forwarded;
use crate::config::forwarding_mode::ForwardingMode;
use crate::config::inner_table::read_inner_table;
use crate::config::network_set::NetworkSet;
use crate::config::path_normalization::{PathCase, PathNormalization};
use crate::config::reserved_fields::ReservedFields;
use crate::config::section::ConfigSection;
use crate::config::socket::build_socket_options;
use crate::config::{
    affinity, buffer, client_from, compression, error_pages, http2, http3, objective, packets,
    proxy_protocol, request_id, request_priority, rules, tls,
};

pub fn build_service(section: &ConfigSection) -> ServiceConfig {
    let forward = match section.text("forward") {
        Some("tcp") => ForwardingMode::Tcp,
        Some("mac") => ForwardingMode::Mac,
        Some("tunnel") => ForwardingMode::Tunnel,
        Some("nat") => ForwardingMode::Nat,
        _ => ForwardingMode::Http,
    };
    ServiceConfig {
        name: section.name.clone(),
        listen: if forward.forwards_packets() {
            Vec::new()
        } else {
            section.sockets("listen").to_vec()
        },
        forward,
        pool: section.text("pool").unwrap_or_default().to_owned(),
        timeout: read_inner_table(section, "timeout", |timeout| ServiceTimeouts {
            header: timeout.time_or_zero("header"),
            idle: timeout.time_or_zero("idle"),
            between_bytes: timeout.time_or_zero("between-bytes"),
            whole: timeout.time("total"),
            drain: timeout.time_or_zero("drain"),
            tunnel: timeout.time_or_zero("tunnel"),
        }),
        limit: read_inner_table(section, "limit", build_limits),
        socket: read_inner_table(section, "socket", build_socket_options),
        trust: build_trust(section),
        client_from: client_from::build_client_from(section)
            .filter(|_| forward == ForwardingMode::Http),
        request_id: request_id::build_request_id(section)
            .filter(|_| forward == ForwardingMode::Http),
        forwarded: read_inner_table(section, "forwarded", build_forwarded),
        packets: forward.forwards_packets().then(|| packets::build_packet_service(section)),
        tls: section.table("tls").map(tls::build_service_tls),
        auth: section.text("auth").filter(|_| forward == ForwardingMode::Http).map(str::to_owned),
        rules: if forward.forwards_packets() {
            Vec::new()
        } else {
            section.list("rule").iter().map(|rule| rules::build_rule(rule, section)).collect()
        },
        edits: section.list("edit").iter().map(rules::build_edit).collect(),
        path_normalization: PathNormalization::from_keyword(section.text("path-normalization")),
        path_case: PathCase::from_keyword(section.text("path-case")),
        field_names: FieldNamePolicy::from_keyword(section.text("field-names")),
        sticky: section
            .table("sticky")
            .filter(|_| !forward.forwards_packets())
            .map(|sticky| affinity::build_affinity(sticky, section.table("tls").is_some())),
        http2: read_inner_table(section, "http2", http2::build_client_http2),
        http3: read_inner_table(section, "http3", http3::build_client_http3),
        accept_proxy: section.table("accept-proxy").map(proxy_protocol::build_accept_proxy),
        buffer: read_inner_table(section, "buffer", buffer::build_buffer),
        compress: section.table("compress").map(compression::build_compression),
        error_pages: match forward {
            ForwardingMode::Http => {
                section.list("error-page").iter().map(error_pages::build_error_page).collect()
            }
            _ => Vec::new(),
        },
        priority: read_inner_table(section, "priority", request_priority::build_request_priority),
        objective: section.table("objective").map(objective::build_objective),
        auth_plan: ServiceAuthPlan::default(),
        reserved: ReservedFields::default(),
    }
}

fn build_limits(limit: &ConfigSection) -> ServiceLimits {
    ServiceLimits {
        connections: limit.count("connections"),
        connections_per_client: limit.count("connections-per-client"),
        header_bytes: limit.count_or_zero("header-bytes"),
        header_count: limit.count_or_zero("header-count"),
        target_bytes: limit.count_or_zero("target-bytes"),
        body_bytes: build_body_limit(limit),
        connection_bytes: limit.count_or_zero("connection-bytes"),
    }
}

fn build_trust(section: &ConfigSection) -> TrustedProxies {
    TrustedProxies {
        networks: NetworkSet::new(section.prefixes("trust")),
        files: section.network_files("trust").iter().map(PathBuf::from).collect(),
    }
}
