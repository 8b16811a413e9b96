//! The whole configuration, described once. The tables below it describe its parts.

pub mod acme;
pub mod agent;
pub mod balance;
pub mod buffer;
pub mod capture;
pub mod compress;
pub mod global;
pub mod heartbeat;
pub mod http2;
pub mod http3;
pub mod lenient;
pub mod link;
pub mod mptcp;
pub mod names;
pub mod objective;
pub mod operate;
pub mod packets;
pub mod path;
pub mod pool;
pub mod probe;
pub mod proxy;
pub mod rate_limit;
pub mod resilience;
pub mod rewrite;
pub mod rules;
pub mod service;
pub mod socket;
pub mod sticky;
pub mod tls;
pub mod uplink;
pub mod vrrp;

use super::schema::{Fallback, Form, Key, Kind, OBJECTS, Table};

/// The top of the file.
pub static ROOT: Table = Table {
    what: "the file",
    choices: &[],
    keys: &[
        Key::new(
            "global",
            Kind::table(&global::GLOBAL),
            Fallback::Inner,
            "What belongs to the process, and defaults for services and pools.",
        ),
        Key::new(
            "packets",
            Kind::table(&packets::PACKETS),
            Fallback::Inner,
            "What the packet plane is made of, for services with `forward` `mac`, `nat` or `tunnel`.",
        ),
        Key::new(
            "service",
            Kind::Named { table: &service::SERVICE, form: Form::Name, most: OBJECTS },
            Fallback::Absent,
            "Virtual addresses and what is done with what arrives there, by name.",
        ),
        Key::new(
            "pool",
            Kind::Named { table: &pool::POOL, form: Form::Name, most: OBJECTS },
            Fallback::Absent,
            "Servers and how to choose among them, by name.",
        ),
        Key::new(
            "vrrp",
            Kind::Named { table: &vrrp::VRRP, form: Form::Name, most: vrrp::GROUPS },
            Fallback::Absent,
            "Addresses that several machines share, one of them active, by name: VRRP (RFC 9568).",
        ),
        Key::new(
            "heartbeat",
            Kind::Named { table: &heartbeat::HEARTBEAT, form: Form::Name, most: heartbeat::PEERS },
            Fallback::Absent,
            "The other member that shares them, by its name: what both tell each other beside VRRP, by several paths.",
        ),
        Key::new(
            "capture",
            Kind::Named { table: &capture::CAPTURE, form: Form::Name, most: capture::RULES },
            Fallback::Absent,
            "When packets of connections are written down by themselves, by name.",
        ),
        Key::new(
            "link",
            Kind::Named { table: &link::LINK, form: Form::Name, most: link::BUNDLES },
            Fallback::Absent,
            "Bundles of links, each used as one link by a device of the same name.",
        ),
        Key::new(
            "mptcp",
            Kind::table(&mptcp::MPTCP),
            Fallback::Inner,
            "By which addresses connections of Multipath TCP (`socket.mptcp`) take further paths.",
        ),
        Key::new(
            "uplinks",
            Kind::table(&uplink::UPLINKS_TABLE),
            Fallback::Inner,
            "What belongs to all uplinks below.",
        ),
        Key::new(
            "uplink",
            Kind::Named { table: &uplink::UPLINK, form: Form::Name, most: uplink::UPLINKS },
            Fallback::Absent,
            "Gateways out of this machine's network, used side by side, by name.",
        ),
        Key::new(
            "names",
            Kind::table(&names::SERVER),
            Fallback::Inner,
            "The name server: answers DNS queries for the zones below.",
        ),
        Key::new(
            "zone",
            Kind::Named { table: &names::ZONE, form: Form::Domain, most: names::ZONES },
            Fallback::Absent,
            "Zones that are delegated to this machine, by their domain: `[zone.\"gslb.example.org\"]`.",
        ),
        Key::new(
            "name",
            Kind::Named { table: &names::NAME, form: Form::Domain, most: names::NAMES },
            Fallback::Absent,
            "Names in these zones and what they stand for: `[name.\"www.gslb.example.org\"]`.",
        ),
    ],
};
