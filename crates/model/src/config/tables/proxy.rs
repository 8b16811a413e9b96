//! Describes `accept-proxy` of a service and `send-proxy` of a pool.

use super::super::schema::{Fallback, Key, Kind, Short, Table, Word};

/// `accept-proxy`.
pub const ACCEPT: Key = Key::new(
    "accept-proxy",
    Kind::Table { table: &ACCEPT_TABLE, short: Short::Key("from"), unset: Some("off") },
    Fallback::unset("off"),
    "Connections begin with a header of the PROXY protocol, version 1 or 2, before TLS. The client that it names is the \
     client for rules, limits, stickiness, forwarding headers and the log. Short form: the network whose headers are \
     believed.",
)
.proxy();

/// `send-proxy`.
pub const SEND: Key = Key::new(
    "send-proxy",
    Kind::Words(&[Word::of("off"), Word::of("v1"), Word::of("v2")]),
    Fallback::word("off"),
    "Each new connection to a server begins with a header of the PROXY protocol that names the client; such a connection \
     serves that client's connection alone. Probes at the server's own port begin with one that names nobody.",
)
.proxy();

static ACCEPT_TABLE: Table = Table {
    what: "what is accepted of the PROXY protocol",
    choices: &[],
    keys: &[
        Key::new(
            "from",
            Kind::Prefixes,
            Fallback::Required,
            "Networks whose headers are believed, and of whose connections one is required.",
        ),
        Key::new(
            "others",
            Kind::Words(&[Word::of("refuse"), Word::of("plain")]),
            Fallback::word("refuse"),
            "Connections from elsewhere: reset, or taken as clients without a header.",
        ),
        Key::new(
            "time",
            Kind::time(1, 60_000),
            Fallback::millis(3_000),
            "Until the header is whole.",
        ),
    ],
};
