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
            "Which link a packet takes: by addresses and ports, the same after silence only (`flowlet`), one after the \
             other, or the first that lives.",
        ),
        KeySchema::new(
            "links",
            ValueKind::List {
                table: &MEMBER,
                short: TableShorthand::Key("via"),
                most: BUNDLES * LINKS,
            },
            DefaultValue::Required,
            "Its links, two to eight, all to the same far end; with `failover` in the order of preference. \
             Short form: the next hop.",
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
            "Networks that are sent over the bundle; routes to its device may be set by others as well.",
        ),
        KeySchema::new(
            "gap",
            ValueKind::time(1, 60_000),
            DefaultValue::Derived(
                "a quarter more than the links' delays differ, and half a millisecond",
            ),
            "`flowlet`: silence after which a flow may change links. Longer than the delays differ, it keeps order.",
        ),
        KeySchema::new(
            "equalise",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "`round-robin`: hold packets of shorter links, so that all links take equally long and order is kept.",
        ),
        KeySchema::new(
            "burst",
            ValueKind::count(1, 64),
            DefaultValue::count(16),
            "`round-robin`: packets of one stream that may take a link together. With 1 each is chosen for. More cost less of \
             the processor, and let packets overtake each other by as many.",
        ),
        KeySchema::new(
            "probe",
            ValueKind::Table { table: &PROBE, short: TableShorthand::None, unset: Some("off") },
            DefaultValue::Inner,
            "How next hops are asked by ICMP echo whether their link lives, and how long it is. `off`: the carrier alone \
             says so, and delays are as written.",
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
            "Where it begins. An interface belongs to one bundle.",
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
            "Its share goes by this; for all links of a bundle or for none.",
        ),
        KeySchema::new(
            "delay",
            ValueKind::time(0, 1_000),
            DefaultValue::Derived("half the least round trip that is measured"),
            "How long a packet travels to the far end, where both directions differ.",
        ),
    ],
};

pub static PROBE: TableSchema = TableSchema {
    description: "a bundle's probe",
    exclusive_groups: &[],
    keys: &[
        // Ten a second and a timeout of three intervals: a dead link is left within half a second.
        KeySchema::new(
            "every",
            ValueKind::time(20, 60_000),
            DefaultValue::millis(100),
            "Between two questions.",
        ),
        KeySchema::new(
            "timeout",
            ValueKind::time(20, 60_000),
            DefaultValue::millis(300),
            "An answer that takes longer is none.",
        ),
        KeySchema::new(
            "rise",
            ValueKind::count(1, 100),
            DefaultValue::count(2),
            "Answers in a row after which a dead link lives.",
        ),
        KeySchema::new(
            "fall",
            ValueKind::count(1, 100),
            DefaultValue::count(3),
            "Questions in a row without an answer after which a link is dead.",
        ),
    ],
};
