//! Builds the packet plane and packet services of the checked configuration.

use std::net::IpAddr;
use std::path::PathBuf;

use super::normalization::build_normalization;
use super::types::{
    AttachMode, FlowTimers, GuardConfig, GuardLimits, PacketAffinityConfig, PacketPlaneConfig,
    PacketRule, PacketServiceConfig, TransportProtocols, TunnelConfig, TunnelKind,
};
use crate::config::inner_table::read_inner_table;
use crate::config::replication::ReplicationScope;
use crate::config::schedule::build_days;
use crate::config::section::ConfigSection;
use crate::config::value::ConfigValue;

pub fn build_packet_plane(section: &ConfigSection) -> PacketPlaneConfig {
    PacketPlaneConfig {
        interfaces: match section.value("interfaces") {
            Some(ConfigValue::Texts(names)) => Some(names.clone()),
            _ => None,
        },
        mode: match section.text("mode") {
            Some("native") => AttachMode::Native,
            Some("generic") => AttachMode::Generic,
            _ => AttachMode::Auto,
        },
        flows: section.count_or_zero("flows"),
        fragments: section.count_or_zero("fragments"),
        insight: section.count("flow-samples"),
        pins: PathBuf::from(section.text("pin-path").unwrap_or_default()),
        returns: section.addresses("nat-source").to_vec(),
    }
}

pub fn build_packet_service(section: &ConfigSection) -> PacketServiceConfig {
    let words = section.keywords("protocol");
    PacketServiceConfig {
        listen: section.listen_ranges("listen"),
        protocols: TransportProtocols { tcp: words.contains(&"tcp"), udp: words.contains(&"udp") },
        timers: read_inner_table(section, "timeout", |timeout| FlowTimers {
            fin: section.time_or_zero("fin-timeout"),
            stale: section.time_or_zero("idle-timeout"),
            embryonic: timeout.time_or_zero("half-open"),
            half_closed: timeout.time_or_zero("half-closed"),
            udp: timeout.time_or_zero("udp"),
        }),
        sticky: section.table("sticky").map(|sticky| PacketAffinityConfig {
            time: sticky.time_or_zero("expire"),
            mask4: sticky.count_or_zero("mask4"),
            mask6: sticky.count_or_zero("mask6"),
        }),
        rules: section.list("rule").iter().map(build_packet_rule).collect(),
        guard: read_inner_table(section, "guard", build_guard),
        tunnel: read_inner_table(section, "tunnel", build_tunnel),
        mss: section.count("mss-clamp"),
        normalize: read_inner_table(section, "normalize", build_normalization),
        replicate: match section.text("replicate") {
            Some("flows") => ReplicationScope::Flows,
            Some("affinity") => ReplicationScope::Affinity,
            Some("none") => ReplicationScope::None,
            _ => ReplicationScope::Both,
        },
    }
}

fn build_packet_rule(section: &ConfigSection) -> PacketRule {
    read_inner_table(section, "when", |when| PacketRule {
        client: when.prefixes("client").to_vec(),
        client_port: match when.value("client-port") {
            Some(ConfigValue::PortRange(ports)) => Some(*ports),
            _ => None,
        },
        hours: match when.value("hours") {
            Some(ConfigValue::DailyWindow(hours)) => Some(*hours),
            _ => None,
        },
        days: build_days(when),
        tos: when.count("tos"),
        rate: when.count("rate"),
        pool: section.text("pool").unwrap_or_default().to_owned(),
    })
}

fn build_guard(section: &ConfigSection) -> GuardConfig {
    GuardConfig {
        allow: section.prefixes("allow").to_vec(),
        deny: section.prefixes("deny").to_vec(),
        ban: section.time("ban"),
        half_open: section.count("half-open"),
        syn_cookies: section.flag("syn-cookies"),
        all: build_guard_limits(section),
        source: read_inner_table(section, "source", build_guard_limits),
    }
}

fn build_guard_limits(section: &ConfigSection) -> GuardLimits {
    GuardLimits {
        connections: section.count("connections"),
        syn_rate: section.count("syn-rate"),
        rst_rate: section.count("rst-rate"),
        bandwidth: section.count("bandwidth"),
    }
}

fn build_tunnel(section: &ConfigSection) -> TunnelConfig {
    let kind = match section.text("kind") {
        Some("gre") => TunnelKind::Gre,
        Some("gue") => TunnelKind::Gue,
        _ => TunnelKind::Ipip,
    };
    let sources = section.addresses("source");
    TunnelConfig {
        kind,
        port: section.count_or_zero("port"),
        source4: sources.iter().find_map(|address| match address {
            IpAddr::V4(v4) => Some(*v4),
            IpAddr::V6(_) => None,
        }),
        source6: sources.iter().find_map(|address| match address {
            IpAddr::V6(v6) => Some(*v6),
            IpAddr::V4(_) => None,
        }),
    }
}
