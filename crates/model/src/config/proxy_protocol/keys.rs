//! Describes `accept-proxy` of a service and `send-proxy` of a pool.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, ValueKind,
};

pub const ACCEPT: KeySchema = KeySchema::new(
    "accept-proxy",
    ValueKind::Table { table: &ACCEPT_TABLE, short: TableShorthand::Key("from"), unset: Some("off") },
    DefaultValue::unset("off"),
    "Connections begin with a header of the PROXY protocol, version 1 or 2, before TLS. The client that it names is the \
     client for rules, limits, stickiness, forwarding headers and the log. Short form: the network whose headers are \
     believed.",
)
.proxy_only();

pub const SEND: KeySchema = KeySchema::new(
    "send-proxy",
    ValueKind::Keyword(&[Keyword::new("off"), Keyword::new("v1"), Keyword::new("v2")]),
    DefaultValue::keyword("off"),
    "Each new connection to a server begins with a header of the PROXY protocol that names the client; such a connection \
     serves that client's connection alone. Probes at the server's own port begin with one that names nobody.",
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
            "Networks whose headers are believed, and of whose connections one is required.",
        ),
        KeySchema::new(
            "others",
            ValueKind::Keyword(&[Keyword::new("refuse"), Keyword::new("plain")]),
            DefaultValue::keyword("refuse"),
            "Connections from elsewhere: reset, or taken as clients without a header.",
        ),
        // The PROXY protocol asks for three seconds at least, to cover a retransmission of TCP.
        KeySchema::new(
            "time",
            ValueKind::time(1, 60_000),
            DefaultValue::millis(3_000),
            "Until the header is whole.",
        ),
    ],
};
