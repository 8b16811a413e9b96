//! Describes `[link.NAME]`: a bundle of several links to one far end.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

/// Limit for the bundles of one file.
pub const BUNDLES: usize = 16;

/// Limit for the links of one bundle.
/// The size of the array in the BPF program's maps.
pub const LINKS: usize = 8;

/// Longest name of a bundle, bytes: two devices are named by it, and Linux allows 15 bytes.
pub const NAME: usize = 14;

pub static LINK: TableSchema = TableSchema {
    description: "a bundle of links",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "policy",
            ValueKind::Keyword(&[
                Keyword::new("hash"),
                Keyword::new("flowlet"),
                Keyword::new("round-robin"),
                Keyword::new("failover"),
            ]),
            DefaultValue::keyword("hash"),
            "Which link a packet takes. `hash`: by addresses and ports. `flowlet`: the same link, which may change \
             after silence. `round-robin`: each in turn. `failover`: the first that is up.",
        ),
        KeySchema::new(
            "links",
            ValueKind::List {
                table: &MEMBER,
                short: TableShorthand::Key("via"),
                most: BUNDLES * LINKS,
            },
            DefaultValue::Required,
            "The links, two to eight, all to the same far end; with `failover` in order of preference. Short form: \
             the next hop.",
        ),
        KeySchema::new(
            "addresses",
            ValueKind::Addresses,
            DefaultValue::Absent,
            "Addresses of this machine on the bundle's device, as `/32` or `/128`.",
        ),
        KeySchema::new(
            "routes",
            ValueKind::Prefixes,
            DefaultValue::Absent,
            "Networks that are routed over the bundle. Others may set routes to its device too.",
        ),
        KeySchema::new(
            "gap",
            ValueKind::time(1, 60_000),
            DefaultValue::Derived(
                "a quarter more than the links' delays differ, and half a millisecond",
            ),
            "`flowlet`: silence after which a flow may change links. Order is kept if it is longer than the \
             difference of the delays.",
        ),
        KeySchema::new(
            "equalise",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "`round-robin`: hold packets of shorter links, so that all links have the same delay and order is kept.",
        ),
        KeySchema::new(
            "burst",
            ValueKind::count(1, 64),
            DefaultValue::count(16),
            "`round-robin`: packets of one stream that may take a link together. 1: a link is chosen for each \
             packet. More cost less processor time, and let packets overtake each other by as many.",
        ),
        KeySchema::new(
            "probe",
            ValueKind::Table { table: &PROBE, short: TableShorthand::None, unset: Some("off") },
            DefaultValue::Inner,
            "Health check of the next hops by ICMP echo, which also measures delays. `off`: the carrier alone \
             decides, and delays are as written.",
        ),
    ],
};

/// A link of `links`.
pub static MEMBER: TableSchema = TableSchema {
    description: "a link of a bundle",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "interface",
            ValueKind::Text { form: TextFormat::Interface, unset: None },
            DefaultValue::Derived("the one by which `via` is reached without a router"),
            "Its interface, which belongs to one bundle only.",
        ),
        KeySchema::new(
            "via",
            ValueKind::Addresses,
            DefaultValue::Required,
            "Its next hop, the far end's address on this link: one address, or one of each family.",
        ),
        KeySchema::new(
            "capacity",
            ValueKind::Rate { min: 1_000, max: 1_000_000_000_000, unset: None },
            DefaultValue::Derived("all links alike"),
            "Its share of packets; for all links of a bundle or for none.",
        ),
        KeySchema::new(
            "delay",
            ValueKind::time(0, 1_000),
            DefaultValue::Derived("half the least round trip that is measured"),
            "One-way delay to the far end, if the two directions differ.",
        ),
    ],
};

pub static PROBE: TableSchema = TableSchema {
    description: "a bundle's probe",
    exclusive_groups: &[],
    keys: &[
        // Ten a second and a timeout of three intervals: a dead link is left within half a second.
        KeySchema::new(
            "interval",
            ValueKind::time(20, 60_000),
            DefaultValue::millis(100),
            "Time between two checks.",
        )
        .formerly(&["every"]),
        KeySchema::new(
            "timeout",
            ValueKind::time(20, 60_000),
            DefaultValue::millis(300),
            "Timeout of a check.",
        ),
        KeySchema::new(
            "rise",
            ValueKind::count(1, 100),
            DefaultValue::count(2),
            "Successful checks in a row until a link is up.",
        ),
        KeySchema::new(
            "fall",
            ValueKind::count(1, 100),
            DefaultValue::count(3),
            "Failed checks in a row until a link is down.",
        ),
    ],
};
