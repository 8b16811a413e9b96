//! Describes `[uplinks]` and `[uplink.NAME]`: several gateways to the outside, used in parallel.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};

/// Limit for the uplinks of one file.
pub const UPLINKS: usize = 8;

/// Limit for the targets of one uplink.
pub const TARGETS: usize = 16;

/// The lowest routing table number; lower ones conventionally belong to the system.
const TABLES: u64 = 256;

pub static UPLINKS_TABLE: TableSchema = TableSchema {
    description: "the uplinks table",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "inside",
            ValueKind::Texts { form: TextFormat::Interface, unset: None },
            DefaultValue::Absent,
            "Interfaces by which packets come in that this machine forwards: their connections are shared among the \
             uplinks too.",
        ),
        KeySchema::new(
            "translate",
            ValueKind::Keyword(&[Keyword::new("ipv4"), Keyword::new("both"), Keyword::new("off")]),
            DefaultValue::keyword("ipv4"),
            "Which forwarded connections have the uplink's own address as their source; `off`: somebody else sees to \
             that, or the addresses are known beyond every uplink.",
        ),
        // The mark takes five bits from here on, of 32.
        KeySchema::new(
            "mark-bit",
            ValueKind::count(0, 27),
            DefaultValue::count(24),
            "The lowest of five bits of a packet's mark that say which uplink it takes; nobody else may use them.",
        ),
        KeySchema::new(
            "table",
            ValueKind::count(TABLES, 4_000_000_000),
            DefaultValue::count(7_800),
            "The routing table of all uplinks together; those of the single ones follow it. Nobody else may use them.",
        ),
        // Below the kernel's rule of the main table (32,766), which would answer first.
        KeySchema::new(
            "rule",
            ValueKind::count(1, 32_000),
            DefaultValue::count(30_000),
            "The priority of the first of five kinds of routing rules; rules of others before it come first.",
        ),
    ],
};

pub static UPLINK: TableSchema = TableSchema {
    description: "an uplink",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "interface",
            ValueKind::Text { form: TextFormat::Interface, unset: None },
            DefaultValue::Required,
            "Where it begins. Several uplinks may share one.",
        ),
        KeySchema::new(
            "via",
            ValueKind::Addresses,
            DefaultValue::Required,
            "Its gateway, in a network of the interface: one address, or one of each family.",
        ),
        KeySchema::new(
            "source",
            ValueKind::Addresses,
            DefaultValue::Derived("the interface's address in the gateway's network"),
            "What leaves by it has this address of this machine: one, or one of each family.",
        ),
        // The kernel holds a weight in one byte, less one (rtnexthop of linux/rtnetlink.h).
        KeySchema::new(
            "weight",
            ValueKind::count(0, 256),
            DefaultValue::count(1),
            "Its share of new connections among those of the same priority; 0 takes none.",
        ),
        KeySchema::new(
            "priority",
            ValueKind::count(1, 9),
            DefaultValue::count(1),
            "Its rank: new connections go to the lowest number of which one is up.",
        ),
        KeySchema::new(
            "probe",
            ValueKind::Table { table: &PROBE, short: TableShorthand::None, unset: Some("off") },
            DefaultValue::Inner,
            "What is asked through it to learn whether it leads anywhere. `off`: the carrier alone says so.",
        ),
    ],
};

pub static PROBE: TableSchema = TableSchema {
    description: "an uplink's probe",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "echo",
            ValueKind::Addresses,
            DefaultValue::Absent,
            "Targets beyond the gateway that are asked by ICMP echo. A family without a target asks its gateway, which \
             says nothing of what lies beyond.",
        ),
        KeySchema::new(
            "connect",
            ValueKind::Listen,
            DefaultValue::Absent,
            "Targets beyond it that are asked by a TCP connection, addresses with ports; a refusal is an answer.",
        ),
        KeySchema::new(
            "need",
            ValueKind::count(1, TARGETS as u64),
            DefaultValue::count(1),
            "So many targets of a family must answer; all of them where there are fewer.",
        ),
        // Below 20 ms probes would be a load on the provider's router.
        KeySchema::new(
            "every",
            ValueKind::time(20, 600_000),
            DefaultValue::millis(1_000),
            "Between two questions to a target.",
        ),
        KeySchema::new(
            "timeout",
            ValueKind::time(20, 60_000),
            DefaultValue::millis(1_000),
            "An answer that takes longer is none.",
        ),
        KeySchema::new(
            "rise",
            ValueKind::count(1, 100),
            DefaultValue::count(2),
            "Answers in a row after which a target counts as reached again.",
        ),
        KeySchema::new(
            "fall",
            ValueKind::count(1, 100),
            DefaultValue::count(3),
            "Questions in a row without an answer after which it does not.",
        ),
    ],
};
