//! Describes `sticky`: session affinity, which keeps a client on its server.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};

/// One day, in milliseconds: the bound of the times here.
const DAY: u64 = 86_400_000;

pub const STICKY: KeySchema = KeySchema::new(
    "sticky",
    ValueKind::Table {
        table: &STICKY_TABLE,
        short: TableShorthand::Key("expire"),
        unset: Some("off"),
    },
    DefaultValue::unset("off"),
    "Sticky sessions (session affinity): a client keeps its server. Applies after rules and before the pool's \
     `balance`. Short form: the time, by address.",
);

static STICKY_TABLE: TableSchema = TableSchema {
    description: "a sticky table",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "by",
            ValueKind::Keyword(&[
                Keyword::new("address"),
                Keyword::new("cookie"),
                Keyword::new("header"),
                Keyword::new("path"),
                Keyword::new("query"),
                Keyword::new("tls-session"),
            ]),
            DefaultValue::keyword("address"),
            "What identifies a client: the network of its address, a cookie, a header, the path, a query parameter, \
             or the TLS session that it resumes.",
        )
        .proxy_only(),
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Token, unset: None },
            DefaultValue::Absent,
            "Name of the cookie, header or parameter.",
        )
        .http_only(),
        // 30 days are longer than any session; where room is short, a table's oldest entries leave earlier.
        KeySchema::new(
            "expire",
            ValueKind::time(1_000, 30 * DAY),
            DefaultValue::Absent,
            "How long a client keeps its server after its last connection or request. Required, except for cookies \
             of the balancer: without it these last until the browser closes.",
        ).formerly(&["time"]),
        // A client's whole address by default; a shorter mask makes one client of a network.
        KeySchema::new(
            "mask4",
            ValueKind::count(0, 32),
            DefaultValue::count(32),
            "Bits of an IPv4 address that count.",
        ),
        KeySchema::new(
            "mask6",
            ValueKind::count(0, 128),
            DefaultValue::count(128),
            "Bits of an IPv6 address that count.",
        ),
        KeySchema::new(
            "cookie",
            ValueKind::Keyword(&[
                Keyword::new("insert"),
                Keyword::new("rewrite"),
                Keyword::new("learn"),
                Keyword::new("prefix"),
                Keyword::new("passive"),
            ]),
            DefaultValue::Derived("`insert` for `by = \"cookie\"`"),
            "Which cookie. `insert`: one of the balancer, beside the application's. `rewrite`: the balancer's value \
             in place of the one that a server sets. The others use the application's cookie. `learn`: its value is \
             learned from responses. `prefix`: clients get it with the server's `cookie-value` and `~` in front, \
             which servers do not see. `passive`: its value is a server's `cookie-value`, or begins with it and \
             `~`, and nothing is changed.",
        )
        .http_only(),
        KeySchema::new(
            "secure",
            ValueKind::Flag,
            DefaultValue::Derived("true where the service speaks TLS"),
            "`insert`: the cookie's `Secure` attribute: sent over TLS only.",
        )
        .http_only(),
        KeySchema::new(
            "http-only",
            ValueKind::Flag,
            DefaultValue::Derived("true"),
            "`insert`: the cookie's `HttpOnly` attribute: not readable by scripts.",
        )
        .http_only(),
        KeySchema::new(
            "same-site",
            ValueKind::Keyword(&[
                Keyword::new("lax"),
                Keyword::new("strict"),
                Keyword::new("none"),
                Keyword::new("omit"),
            ]),
            DefaultValue::Derived("`lax`"),
            "`insert`: the cookie's `SameSite` attribute. `omit`: none, the browser decides.",
        )
        .http_only(),
        KeySchema::new(
            "domain",
            ValueKind::Text { form: TextFormat::Domain, unset: None },
            DefaultValue::Absent,
            "`insert`: the cookie's `Domain` attribute: also sent to hosts below this domain.",
        )
        .http_only(),
        KeySchema::new(
            "hide",
            ValueKind::Flag,
            DefaultValue::Derived("false"),
            "`insert`: remove the cookie from requests to servers, and drop a cookie of its name that a server sets.",
        )
        .http_only(),
        KeySchema::new(
            "no-cache",
            ValueKind::Flag,
            DefaultValue::Derived("false"),
            "`insert`, `rewrite` and `prefix`: a response that sets the cookie gets `Cache-Control: private`, so \
             that no shared cache gives one client's cookie to another.",
        )
        .http_only(),
        KeySchema::new(
            "entries",
            ValueKind::count(64, 16_777_216),
            DefaultValue::count(131_072),
            "Clients in the table, about 64 bytes each. The least recently seen client is evicted first and counted.",
        )
        .proxy_only(),
        KeySchema::new(
            "when-down",
            ValueKind::Keyword(&[Keyword::new("choose"), Keyword::new("wait"), Keyword::new("refuse")]),
            DefaultValue::keyword("choose"),
            "When its server is not available: `choose` another one, `wait` for at most `timeout.queue` of the \
             pool, or `refuse` with 503.",
        )
        .proxy_only()
        .formerly(&["gone"]),
        KeySchema::new(
            "when-full",
            ValueKind::Keyword(&[Keyword::new("wait"), Keyword::new("spill")]),
            DefaultValue::keyword("wait"),
            "When its server is at its connection limit: `wait` in the queue, or `spill` to another server this \
             time.",
        )
        .proxy_only()
        .formerly(&["full"]),
        KeySchema::new(
            "drain",
            ValueKind::time(0, 30 * DAY),
            DefaultValue::millis(0),
            "How long a draining server keeps its clients.",
        )
        .proxy_only(),
        KeySchema::new(
            "group",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Absent,
            "Services with the same value share a table: a client keeps the server of the same name.",
        ).formerly(&["share"])
        .proxy_only(),
    ],
};
