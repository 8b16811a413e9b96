//! Describes `servers-from`: service discovery by DNS or from a file.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};

pub const SERVERS_FROM: KeySchema = KeySchema::new(
    "servers-from",
    ValueKind::Table { table: &SERVERS_FROM_TABLE, short: TableShorthand::None, unset: None },
    DefaultValue::Absent,
    "Service discovery: more servers, from DNS or a file.",
);

static SERVERS_FROM_TABLE: TableSchema = TableSchema {
    description: "a source of servers",
    exclusive_groups: &[&["dns", "type", "port", "resolver"], &["file"]],
    keys: &[
        KeySchema::new(
            "dns",
            ValueKind::Text { form: TextFormat::Host, unset: None },
            DefaultValue::Absent,
            "DNS name: each of its records is a server. It is resolved again when its time to live ends.",
        ),
        KeySchema::new(
            "type",
            ValueKind::Keyword(&[Keyword::new("a"), Keyword::new("aaaa"), Keyword::new("srv")]),
            DefaultValue::Derived("`a`"),
            "`dns`: which records.",
        ),
        // The range of TCP and UDP ports.
        KeySchema::new(
            "port",
            ValueKind::count(1, 65_535),
            DefaultValue::Absent,
            "`dns`: the servers' port; SRV records have their own.",
        ),
        KeySchema::new(
            "resolver",
            ValueKind::Socket,
            DefaultValue::Absent,
            "`dns`: the resolver; none: those of /etc/resolv.conf.",
        ),
        KeySchema::new(
            "file",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Absent,
            "A file with a line `ADDRESS:PORT [weight=N] [name=NAME]` for each server, read again when it changes.",
        ),
        // One server at least: an empty answer is more likely a fault of the source than an empty pool.
        KeySchema::new(
            "min",
            ValueKind::count(1, 10_000),
            DefaultValue::count(1),
            "Minimum of servers: a result with fewer is ignored, and the last good one stays.",
        ),
        // A wrong answer must not fill the pool.
        KeySchema::new(
            "max",
            ValueKind::count(1, 10_000),
            DefaultValue::count(256),
            "Maximum of servers from one result; others are left out, with a warning.",
        ),
    ],
};
