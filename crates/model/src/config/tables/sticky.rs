//! Describes `sticky`: clients that keep their server.

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};

const DAY: u64 = 86_400_000;

/// A client keeps its server.
pub const STICKY: Key = Key::new(
    "sticky",
    Kind::Table { table: &STICKY_TABLE, short: Short::Key("time"), unset: Some("off") },
    Fallback::unset("off"),
    "A client keeps its server: it comes after rules and before the pool's `balance`. Short form: the time, by address.",
);

static STICKY_TABLE: Table = Table {
    what: "a sticky table",
    choices: &[],
    keys: &[
        Key::new(
            "by",
            Kind::Words(&[
                Word::of("address"),
                Word::of("cookie"),
                Word::of("header"),
                Word::of("path"),
                Word::of("query"),
                Word::of("tls-session"),
            ]),
            Fallback::word("address"),
            "What tells clients apart: the network of their address, a cookie, a field, the path, a parameter of the query, or \
             the TLS session that they resume.",
        )
        .proxy(),
        Key::new(
            "name",
            Kind::Text { form: Form::Token, unset: None },
            Fallback::Absent,
            "Name of the cookie, field or parameter.",
        )
        .http(),
        Key::new(
            "time",
            Kind::time(1_000, 30 * DAY),
            Fallback::Absent,
            "How long after its last connection or request a client keeps its server; required but for cookies of ours, \
             which without it last as long as the browser runs.",
        ),
        Key::new(
            "mask4",
            Kind::count(0, 32),
            Fallback::count(32),
            "Bits of an IPv4 address that count.",
        ),
        Key::new(
            "mask6",
            Kind::count(0, 128),
            Fallback::count(128),
            "Bits of an IPv6 address that count.",
        ),
        Key::new(
            "cookie",
            Kind::Words(&[Word::of("insert"), Word::of("rewrite"), Word::of("learn")]),
            Fallback::Derived("`insert` for `by = \"cookie\"`"),
            "Ours beside the application's, ours in the place of the value that a server sets, or the application's own: its \
             value is learned from answers.",
        )
        .http(),
        Key::new(
            "secure",
            Kind::Flag,
            Fallback::Derived("true where the service speaks TLS"),
            "`insert`: only over TLS.",
        )
        .http(),
        Key::new(
            "http-only",
            Kind::Flag,
            Fallback::Derived("true"),
            "`insert`: not for scripts.",
        )
        .http(),
        Key::new(
            "same-site",
            Kind::Words(&[Word::of("lax"), Word::of("strict"), Word::of("none")]),
            Fallback::Derived("`lax`"),
            "`insert`: from which sites' pages it is sent.",
        )
        .http(),
        Key::new(
            "entries",
            Kind::count(64, 16_777_216),
            Fallback::count(131_072),
            "Clients that are remembered at a time, about 64 bytes each; the oldest goes first and is counted.",
        )
        .proxy(),
        Key::new(
            "gone",
            Kind::Words(&[Word::of("choose"), Word::of("wait"), Word::of("refuse")]),
            Fallback::word("choose"),
            "When its server may take no work: another one, wait for it as long as `timeout.queue` of the pool says, or \
             503.",
        )
        .proxy(),
        Key::new(
            "full",
            Kind::Words(&[Word::of("wait"), Word::of("spill")]),
            Fallback::word("wait"),
            "When its server is at its connection cap: wait in the queue, or another one for this time.",
        )
        .proxy(),
        Key::new(
            "drain",
            Kind::time(0, 30 * DAY),
            Fallback::millis(0),
            "How long a draining server keeps the clients that it has.",
        )
        .proxy(),
        Key::new(
            "share",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Absent,
            "Services with the same word here keep a client on the server of the same name.",
        )
        .proxy(),
    ],
};
