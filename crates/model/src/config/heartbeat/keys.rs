//! Describes `[heartbeat.PEER]`: heartbeats between two members in addition to VRRP, over several paths.

use crate::config::schema::{
    DefaultValue, KeySchema, TableSchema, TableShorthand, TextFormat, ValueKind,
};

/// Limit for the members of one file.
/// A pair has two members.
pub const PEERS: usize = 1;

/// Limit for the paths of a heartbeat.
/// A cable, two switches and a routed network make four; this is twice as many.
pub const PATHS: usize = 8;

/// Limit for the targets of a heartbeat.
/// A few routers and servers decide whether a member reaches its networks.
pub const TARGETS: usize = 16;

pub static HEARTBEAT: TableSchema = TableSchema {
    description: "a heartbeat",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Required,
            "Name of this member: the other member's table is called `[heartbeat.NAME]` after it.",
        ),
        KeySchema::new(
            "secret",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Required,
            "Key file, the same on both members: lines `ID SECRET`. The first key signs, and a second one is \
             accepted too. Only the daemon's user may read the file. It is read again when it changes.",
        ),
        KeySchema::new(
            "paths",
            ValueKind::List { table: &PATH, short: TableShorthand::None, most: PEERS * PATHS },
            DefaultValue::Required,
            "Paths between both members, one to eight, best over different links. The other member counts as dead \
             when all paths are silent.",
        ),
        KeySchema::new(
            "port",
            ValueKind::count(1, 65_535),
            DefaultValue::count(7_694),
            "UDP port, the same on both members.",
        ),
        // Below 10 ms a late timer looks like a loss. Beyond 10 s VRRP alone notices sooner.
        KeySchema::new(
            "interval",
            ValueKind::time(10, 10_000),
            DefaultValue::Derived("the shortest `advertise` of the groups; `1s` without groups"),
            "Time between two heartbeats on each path.",
        )
        .formerly(&["every"]),
        KeySchema::new(
            "timeout",
            ValueKind::time(20, 120_000),
            DefaultValue::Derived("three times `interval`"),
            "A path without heartbeats for this long is down.",
        ),
        KeySchema::new(
            "reach",
            ValueKind::Table { table: &REACH, short: TableShorthand::Key("echo"), unset: None },
            DefaultValue::Absent,
            "Reachability targets that both members check. The member that reaches more becomes active. Equal \
             numbers change nothing.",
        ),
        KeySchema::new(
            "witness",
            ValueKind::Table { table: &WITNESS, short: TableShorthand::Key("http"), unset: None },
            DefaultValue::Absent,
            "Witness (quorum device): a third machine, for addresses that must never be on both members. An active \
             member needs its agreement or the other member's. The same on both.",
        ),
    ],
};

/// A path of `paths`.
pub static PATH: TableSchema = TableSchema {
    description: "a path of a heartbeat",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "local",
            ValueKind::Addresses,
            DefaultValue::Required,
            "Address of this member, not a shared one.",
        ),
        KeySchema::new(
            "peer",
            ValueKind::Addresses,
            DefaultValue::Required,
            "Address of the other member.",
        ),
        KeySchema::new(
            "interface",
            ValueKind::Text { form: TextFormat::Interface, unset: None },
            DefaultValue::Derived("as the kernel routes"),
            "Heartbeats of this path use this interface only.",
        ),
    ],
};

pub static WITNESS: TableSchema = TableSchema {
    description: "a heartbeat's witness",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "http",
            ValueKind::Text { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Absent,
            "URL for leases: the API of another Steelyard, `https://HOST:9443/v1/leases`, or a server with the same \
             protocol.",
        ),
        KeySchema::new(
            "etcd",
            ValueKind::Texts { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Absent,
            "Or the members of an etcd cluster, one to nine: `http://HOST:2379`.",
        ),
        // Long against a round trip to the witness, and users wait no longer after a failure.
        KeySchema::new(
            "lease",
            ValueKind::time(500, 30_000),
            DefaultValue::millis(3_000),
            "Duration of a lease and of a vote: how long failover takes after a crash. etcd counts whole seconds.",
        ),
        KeySchema::new(
            "token",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Absent,
            "Token file; for Steelyard a token with the role `lease`. Only the daemon's user may read the file.",
        ),
        KeySchema::new(
            "ca",
            ValueKind::Text { form: TextFormat::File, unset: Some("system") },
            DefaultValue::unset("system"),
            "PEM file of the authorities for its certificate; `system`: those that this machine trusts.",
        ),
    ],
};

pub static REACH: TableSchema = TableSchema {
    description: "a heartbeat's reach",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "echo",
            ValueKind::Addresses,
            DefaultValue::Absent,
            "Targets to check by ICMP echo, such as the router.",
        ),
        KeySchema::new(
            "connect",
            ValueKind::Listen,
            DefaultValue::Absent,
            "Targets to check by a TCP connection, addresses with ports.",
        ),
        // A router that is busy answers late: a second needs three losses for a verdict.
        KeySchema::new(
            "interval",
            ValueKind::time(50, 60_000),
            DefaultValue::millis(1_000),
            "Time between two checks.",
        ).formerly(&["every"]),
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
            "Successful checks in a row until a target is reached again.",
        ),
        KeySchema::new(
            "fall",
            ValueKind::count(1, 100),
            DefaultValue::count(3),
            "Failed checks in a row until a target is not reached.",
        ),
        // A link that came up needs seconds for spanning tree and neighbours.
        KeySchema::new(
            "hold-time",
            ValueKind::time(0, 600_000),
            DefaultValue::millis(3_000),
            "How long the other member must have reached more, or no longer more, before anything changes.",
        ).formerly(&["settle"]),
    ],
};
