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
            "Interfaces of forwarded traffic: connections that arrive here are shared among the uplinks too.",
        ),
        KeySchema::new(
            "source-nat",
            ValueKind::Keyword(&[Keyword::new("ipv4"), Keyword::new("both"), Keyword::new("off")]),
            DefaultValue::keyword("ipv4"),
            "Source NAT of forwarded connections to their uplink's address. `off`: another program does it, or the \
             addresses are routed beyond every uplink.",
        ).formerly(&["translate"]),
        // The mark takes five bits from here on, of 32.
        KeySchema::new(
            "mark-bit",
            ValueKind::count(0, 27),
            DefaultValue::count(24),
            "The lowest of five bits of the packet mark that select the uplink. No other program may use them.",
        ),
        KeySchema::new(
            "table",
            ValueKind::count(TABLES, 4_000_000_000),
            DefaultValue::count(7_800),
            "Number of the routing table of all uplinks. The tables of single uplinks follow it. No other program \
             may use them.",
        ),
        // Below the kernel's rule of the main table (32,766), which would answer first.
        KeySchema::new(
            "rule-priority",
            ValueKind::count(1, 32_000),
            DefaultValue::count(30_000),
            "Priority of the first of five kinds of routing rules. Rules of others before it come first.",
        ).formerly(&["rule"]),
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
            "Its interface. Several uplinks may share one.",
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
            "Source address of packets that leave by this uplink: one, or one of each family.",
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
            "New connections take the lowest number of which an uplink is up.",
        ),
        KeySchema::new(
            "probe",
            ValueKind::Table { table: &PROBE, short: TableShorthand::None, unset: Some("off") },
            DefaultValue::Inner,
            "Health check through the uplink. `off`: the carrier alone decides.",
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
            "Targets beyond the gateway to check by ICMP echo. A family without targets checks its gateway, which \
             proves nothing about the path beyond.",
        ),
        KeySchema::new(
            "connect",
            ValueKind::Listen,
            DefaultValue::Absent,
            "Targets beyond the gateway to check by a TCP connection, addresses with ports. A refusal counts as an \
             answer.",
        ),
        KeySchema::new(
            "min-targets",
            ValueKind::count(1, TARGETS as u64),
            DefaultValue::count(1),
            "How many targets of a family must answer; all of them if there are fewer.",
        )
        .formerly(&["need"]),
        // Below 20 ms probes would be a load on the provider's router.
        KeySchema::new(
            "interval",
            ValueKind::time(20, 600_000),
            DefaultValue::millis(1_000),
            "Time between two checks of a target.",
        )
        .formerly(&["every"]),
        KeySchema::new(
            "timeout",
            ValueKind::time(20, 60_000),
            DefaultValue::millis(1_000),
            "Timeout of a check.",
        ),
        KeySchema::new(
            "rise",
            ValueKind::count(1, 100),
            DefaultValue::count(2),
            "Successful checks in a row until a target is reached.",
        ),
        KeySchema::new(
            "fall",
            ValueKind::count(1, 100),
            DefaultValue::count(3),
            "Failed checks in a row until a target is not reached.",
        ),
    ],
};
