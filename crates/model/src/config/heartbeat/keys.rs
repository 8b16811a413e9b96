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
            "The name of this member, by which the table of the other one is called.",
        ),
        KeySchema::new(
            "secret",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Required,
            "The file of keys, the same on both members: lines `ID SECRET`, the first signs, a second is accepted too. Only \
             the daemon's user may read it. It is read again when it changes.",
        ),
        KeySchema::new(
            "paths",
            ValueKind::List { table: &PATH, short: TableShorthand::None, most: PEERS * PATHS },
            DefaultValue::Required,
            "The ways between both members, one to eight, best over different links. The other member counts as dead when \
             all of them are silent.",
        ),
        KeySchema::new(
            "port",
            ValueKind::count(1, 65_535),
            DefaultValue::count(7_694),
            "Port of UDP, the same on both members.",
        ),
        // Below 10 ms a late timer looks like a loss. Beyond 10 s VRRP alone notices sooner.
        KeySchema::new(
            "every",
            ValueKind::time(10, 10_000),
            DefaultValue::Derived("the shortest `advertise` of the groups; `1s` without groups"),
            "Between two beats on each path.",
        ),
        KeySchema::new(
            "timeout",
            ValueKind::time(20, 120_000),
            DefaultValue::Derived("three times `every`"),
            "A path by which nothing comes for so long is down.",
        ),
        KeySchema::new(
            "reach",
            ValueKind::Table { table: &REACH, short: TableShorthand::Key("echo"), unset: None },
            DefaultValue::Absent,
            "Targets that both members ask; whoever reaches more becomes active. Equal numbers move nothing.",
        ),
        KeySchema::new(
            "witness",
            ValueKind::Table { table: &WITNESS, short: TableShorthand::Key("http"), unset: None },
            DefaultValue::Absent,
            "A third machine, for addresses that must never be at both members: an active member needs its agreement or the \
             other member's. The same on both.",
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
            "Our address, one, which is no shared one.",
        ),
        KeySchema::new(
            "peer",
            ValueKind::Addresses,
            DefaultValue::Required,
            "The other member's address, one.",
        ),
        KeySchema::new(
            "interface",
            ValueKind::Text { form: TextFormat::Interface, unset: None },
            DefaultValue::Derived("as the kernel routes"),
            "Beats of this path go and come by this interface alone.",
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
            "Where leases are asked for: another steelyard's API, `https://HOST:9443/v1/leases`, or a server that does the same.",
        ),
        KeySchema::new(
            "etcd",
            ValueKind::Texts { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Absent,
            "Or the members of an etcd, one to nine: `http://HOST:2379`.",
        ),
        // Long against a round trip to the witness, and users wait no longer after a failure.
        KeySchema::new(
            "lease",
            ValueKind::time(500, 30_000),
            DefaultValue::millis(3_000),
            "For how long both agree at a time: when a member is gone, so long passes before the other one takes over. etcd \
             counts whole seconds.",
        ),
        KeySchema::new(
            "token",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Absent,
            "The file of the token that is shown there; for steelyard one with the role `lease`. Only the daemon's user may \
             read it.",
        ),
        KeySchema::new(
            "ca",
            ValueKind::Text { form: TextFormat::File, unset: Some("system") },
            DefaultValue::unset("system"),
            "PEM file of who may have signed its certificate; `system`: whom this machine trusts.",
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
            "Targets that are asked by ICMP echo, such as the router.",
        ),
        KeySchema::new(
            "connect",
            ValueKind::Listen,
            DefaultValue::Absent,
            "Targets that are asked by a TCP connection, addresses with ports.",
        ),
        // A router that is busy answers late: a second needs three losses for a verdict.
        KeySchema::new(
            "every",
            ValueKind::time(50, 60_000),
            DefaultValue::millis(1_000),
            "Between two questions.",
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
            "Answers in a row after which a target is reached again.",
        ),
        KeySchema::new(
            "fall",
            ValueKind::count(1, 100),
            DefaultValue::count(3),
            "Questions in a row without an answer after which it is not.",
        ),
        // A link that came up needs seconds for spanning tree and neighbours.
        KeySchema::new(
            "settle",
            ValueKind::time(0, 600_000),
            DefaultValue::millis(3_000),
            "The other member must have reached more, or not more any longer, for so long before anything follows.",
        ),
    ],
};
