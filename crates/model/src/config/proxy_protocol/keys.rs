//! Describes `accept-proxy` of a service and `send-proxy` of a pool.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, ValueKind,
};

pub const ACCEPT: KeySchema = KeySchema::new(
    "accept-proxy",
    ValueKind::Table { table: &ACCEPT_TABLE, short: TableShorthand::Key("from"), unset: Some("off") },
    DefaultValue::unset("off"),
    "PROXY protocol, version 1 or 2: connections begin with its header, before TLS. The client of the header is the \
     client for rules, limits, sticky sessions, forwarding headers and the log. Short form: the network whose headers \
     are accepted.",
)
.proxy_only();

pub const SEND: KeySchema = KeySchema::new(
    "send-proxy",
    ValueKind::Keyword(&[Keyword::new("off"), Keyword::new("v1"), Keyword::new("v2")]),
    DefaultValue::keyword("off"),
    "PROXY protocol to servers: each new connection begins with a header that names the client, and serves only that \
     client's connection. Health checks of the server's own port begin with a header without an address.",
)
.proxy_only();

static ACCEPT_TABLE: TableSchema = TableSchema {
    description: "what is accepted of the PROXY protocol",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "from",
            ValueKind::Prefixes,
            DefaultValue::Required,
            "Networks whose connections must begin with a header.",
        ),
        KeySchema::new(
            "others",
            ValueKind::Keyword(&[Keyword::new("refuse"), Keyword::new("plain")]),
            DefaultValue::keyword("refuse"),
            "Connections from other addresses: `refuse` resets them, `plain` accepts them as clients without a header.",
        ),
        // The PROXY protocol asks for three seconds at least, to cover a retransmission of TCP.
        KeySchema::new(
            "timeout",
            ValueKind::time(1, 60_000),
            DefaultValue::millis(3_000),
            "Time for a complete header.",
        )
        .formerly(&["time"]),
    ],
};
