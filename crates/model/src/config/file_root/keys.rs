//! The root table of the configuration; the tables below it have their own modules.

use crate::config::schema::{
    DefaultValue, KeySchema, MAX_OBJECTS, TableSchema, TextFormat, ValueKind,
};
use crate::config::{
    auth, capture, dns, global, heartbeat, link, mptcp, packets, pool, service, uplink, vrrp,
};

pub static ROOT: TableSchema = TableSchema {
    description: "the file",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "global",
            ValueKind::table(&global::GLOBAL),
            DefaultValue::Inner,
            "Settings of the process, and defaults for services and pools.",
        ),
        KeySchema::new(
            "packets",
            ValueKind::table(&packets::PACKETS),
            DefaultValue::Inner,
            "The packet plane (XDP), for services with `forward` `mac`, `nat` or `tunnel`.",
        ),
        KeySchema::new(
            "service",
            ValueKind::Named {
                table: &service::SERVICE,
                form: TextFormat::Name,
                most: MAX_OBJECTS,
            },
            DefaultValue::Absent,
            "Services (frontends) by name: addresses to listen on, and where their traffic goes.",
        ),
        KeySchema::new(
            "pool",
            ValueKind::Named { table: &pool::POOL, form: TextFormat::Name, most: MAX_OBJECTS },
            DefaultValue::Absent,
            "Pools (backends) by name: servers and how to choose among them.",
        ),
        KeySchema::new(
            "vrrp",
            ValueKind::Named { table: &vrrp::VRRP, form: TextFormat::Name, most: vrrp::GROUPS },
            DefaultValue::Absent,
            "VRRP groups by name (RFC 9568): virtual addresses (VIPs) that several machines share, one of them \
             active.",
        ),
        KeySchema::new(
            "heartbeat",
            ValueKind::Named {
                table: &heartbeat::HEARTBEAT,
                form: TextFormat::Name,
                most: heartbeat::PEERS,
            },
            DefaultValue::Absent,
            "Heartbeat with the other member of a pair, by its name, over several paths beside VRRP.",
        ),
        KeySchema::new(
            "auth",
            ValueKind::Named { table: &auth::AUTH, form: TextFormat::Name, most: auth::OBJECTS },
            DefaultValue::Absent,
            "Authentication by name: passwords, API keys, tokens and external authentication for services and rules.",
        ),
        KeySchema::new(
            "capture",
            ValueKind::Named {
                table: &capture::CAPTURE,
                form: TextFormat::Name,
                most: capture::RULES,
            },
            DefaultValue::Absent,
            "Rules that capture packets automatically, by name.",
        ),
        KeySchema::new(
            "link",
            ValueKind::Named { table: &link::LINK, form: TextFormat::Name, most: link::BUNDLES },
            DefaultValue::Absent,
            "Bundles (link aggregation) by name: several links used as one network device of that name.",
        ),
        KeySchema::new(
            "mptcp",
            ValueKind::table(&mptcp::MPTCP),
            DefaultValue::Inner,
            "Multipath TCP: the addresses by which connections with `socket.mptcp` take further paths.",
        ),
        KeySchema::new(
            "uplinks",
            ValueKind::table(&uplink::UPLINKS_TABLE),
            DefaultValue::Inner,
            "Settings of all uplinks below.",
        ),
        KeySchema::new(
            "uplink",
            ValueKind::Named {
                table: &uplink::UPLINK,
                form: TextFormat::Name,
                most: uplink::UPLINKS,
            },
            DefaultValue::Absent,
            "Uplinks by name (multi-WAN): gateways to the internet that are used side by side.",
        ),
        KeySchema::new(
            "names",
            ValueKind::table(&dns::SERVER),
            DefaultValue::Inner,
            "The authoritative name server (GSLB): answers DNS queries for the zones below.",
        ),
        KeySchema::new(
            "zone",
            ValueKind::Named { table: &dns::ZONE, form: TextFormat::Domain, most: dns::ZONES },
            DefaultValue::Absent,
            "Zones that are delegated to this machine, by their domain: `[zone.\"gslb.example.org\"]`.",
        ),
        KeySchema::new(
            "name",
            ValueKind::Named { table: &dns::NAME, form: TextFormat::Domain, most: dns::NAMES },
            DefaultValue::Absent,
            "Names in these zones and what they resolve to: `[name.\"www.gslb.example.org\"]`.",
        ),
    ],
};
