//! The packet plane and packet services: from settings in force to their checked form.

use std::net::IpAddr;
use std::path::PathBuf;

use super::super::packets::{
    AttachMode, Caps, FlowTimers, Guard, PacketRule, PacketService, Packets, Protocols, Sticky,
    Tunnel, TunnelKind,
};
use super::super::replicate::Replicate;
use super::super::section::Section;
use super::super::value::Value;
use super::inner::inner;

/// `[packets]`.
pub(super) fn packets(section: &Section) -> Packets {
    Packets {
        interfaces: match section.value("interfaces") {
            Some(Value::Texts(names)) => Some(names.clone()),
            _ => None,
        },
        mode: match section.text("mode") {
            Some("native") => AttachMode::Native,
            Some("generic") => AttachMode::Generic,
            _ => AttachMode::Auto,
        },
        flows: section.number("flows"),
        fragments: section.number("fragments"),
        insight: section.count("insight"),
        pins: PathBuf::from(section.text("pins").unwrap_or_default()),
        returns: section.addresses("return").to_vec(),
    }
}

/// The packet keys of a service.
pub(super) fn service(section: &Section) -> PacketService {
    let words = section.words("protocol");
    PacketService {
        listen: section.spans("listen"),
        protocols: Protocols { tcp: words.contains(&"tcp"), udp: words.contains(&"udp") },
        timers: inner(section, "timeout", |timeout| FlowTimers {
            fin: section.span("fin-timeout"),
            stale: section.span("stale-timeout"),
            embryonic: timeout.span("embryonic"),
            half_closed: timeout.span("half-closed"),
            udp: timeout.span("udp"),
        }),
        sticky: section.table("sticky").map(|sticky| Sticky {
            time: sticky.span("time"),
            mask4: sticky.number("mask4"),
            mask6: sticky.number("mask6"),
        }),
        rules: section.list("rule").iter().map(rule).collect(),
        guard: inner(section, "guard", guard),
        tunnel: inner(section, "tunnel", tunnel),
        mss: section.count("mss-clamp"),
        replicate: match section.text("replicate") {
            Some("flows") => Replicate::Flows,
            Some("affinity") => Replicate::Affinity,
            Some("none") => Replicate::None,
            _ => Replicate::Both,
        },
    }
}

fn rule(section: &Section) -> PacketRule {
    inner(section, "when", |when| PacketRule {
        client: when.prefixes("client").to_vec(),
        client_port: match when.value("client-port") {
            Some(Value::PortRange(first, last)) => Some((*first, *last)),
            _ => None,
        },
        hours: match when.value("hours") {
            Some(Value::Hours(hours)) => Some(*hours),
            _ => None,
        },
        tos: when.count("tos"),
        rate: when.count("rate"),
        pool: section.text("pool").unwrap_or_default().to_owned(),
    })
}

fn guard(section: &Section) -> Guard {
    Guard {
        allow: section.prefixes("allow").to_vec(),
        deny: section.prefixes("deny").to_vec(),
        ban: section.time("ban"),
        half_open: section.count("half-open"),
        syn_cookies: section.flag("syn-cookies"),
        all: caps(section),
        source: inner(section, "source", caps),
    }
}

fn caps(section: &Section) -> Caps {
    Caps {
        connections: section.count("connections"),
        syn_rate: section.count("syn-rate"),
        rst_rate: section.count("rst-rate"),
        bandwidth: section.count("bandwidth"),
    }
}

fn tunnel(section: &Section) -> Tunnel {
    let kind = match section.text("kind") {
        Some("gre") => TunnelKind::Gre,
        Some("gue") => TunnelKind::Gue,
        _ => TunnelKind::Ipip,
    };
    let sources = section.addresses("source");
    Tunnel {
        kind,
        port: section.number("port"),
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
