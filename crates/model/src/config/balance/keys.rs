//! Describes load balancing: the keys of `[pool.NAME]` and its servers that control it.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};

/// One day, in milliseconds: the bound of the times here.
const DAY: u64 = 86_400_000;

pub const BALANCE: KeySchema = KeySchema::new(
    "balance",
    ValueKind::Table { table: &BALANCE_TABLE, short: TableShorthand::Key("by"), unset: None },
    DefaultValue::Inner,
    "Load balancing policy: how a server is chosen. Short form: the policy alone.",
);

pub const HASH_ON: KeySchema = KeySchema::new(
    "hash-on",
    ValueKind::Table { table: &HASH_ON_TABLE, short: TableShorthand::Key("by"), unset: None },
    DefaultValue::Absent,
    "`maglev`, `bounded-hash`: what is hashed; if a request lacks it, the client's address. Short form: the value of \
     `by`. Default: the client's address.",
);

pub const JUDGE: KeySchema = KeySchema::new(
    "dynamic-weights",
    ValueKind::Table { table: &JUDGE_TABLE, short: TableShorthand::None, unset: Some("off") },
    DefaultValue::unset("off"),
    "Weight controller: adjusts weights by the servers' load and response times; `off`: weights stay as written.",
).formerly(&["judge"]);

/// A second is the shortest ramp with more than one step; a day is longer than any cache takes to fill.
pub const SLOW_START: KeySchema = KeySchema::new(
    "slow-start",
    ValueKind::time_or_keyword(1_000, DAY, "off"),
    DefaultValue::unset("off"),
    "Slow start: how long a server that is new or was down takes from a tenth of its share to the whole.",
);

/// A share in percent. 0 would be `off`.
pub const SPILL_OVER: KeySchema = KeySchema::new(
    "spill-over",
    ValueKind::count_or_keyword(1, 100, "off"),
    DefaultValue::unset("off"),
    "Percent of the first priority's capacity: while less is up, servers of the next priority get requests too. \
     `off`: only when no server of the first is up.",
);

/// `locality` of a pool or of the whole process.
pub const POOL_LOCALITY: KeySchema = KeySchema::new(
    "locality",
    ValueKind::Text { form: TextFormat::Name, unset: Some("off") },
    DefaultValue::unset("off"),
    "Locality (zone) of this balancer: within a priority, servers of this locality come first. Servers without one \
     are near.",
)
.inherited();

/// `locality` of a server.
pub const LOCALITY: KeySchema = KeySchema::new(
    "locality",
    ValueKind::Text { form: TextFormat::Name, unset: Some("off") },
    DefaultValue::unset("off"),
    "Its locality (zone); `off`: near.",
);

/// Nine ranks, before those of backups and of last resort.
pub const PRIORITY: KeySchema = KeySchema::new(
    "priority",
    ValueKind::count(1, 9),
    DefaultValue::Derived("`1`, unless it is a backup or of last resort"),
    "Requests go to the lowest number that has enough capacity up.",
);

pub const BACKUP: KeySchema = KeySchema::new(
    "backup",
    ValueKind::Flag,
    DefaultValue::Literal(crate::config::value::ConfigValue::Flag(false)),
    "Behind every priority.",
);

pub const LAST_RESORT: KeySchema = KeySchema::new(
    "last-resort",
    ValueKind::Flag,
    DefaultValue::Literal(crate::config::value::ConfigValue::Flag(false)),
    "Gets requests only when no other server is available, for any `spill-over`.",
);

/// Keys of `balance` that apply to some policies only.
pub const KEYS_BY_POLICY: [(&str, &[&str]); 4] = [
    ("size", &["maglev", "bounded-hash"]),
    ("load-factor", &["bounded-hash"]),
    ("mask4", &["source"]),
    ("mask6", &["source"]),
];

static BALANCE_TABLE: TableSchema = TableSchema {
    description: "a balance",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "by",
            ValueKind::Keyword(&[
                Keyword::new("round-robin"),
                Keyword::new("least-request"),
                Keyword::new("least-connections"),
                Keyword::new("least-bandwidth"),
                Keyword::new("fastest"),
                Keyword::new("least-loaded"),
                Keyword::new("peak-ewma"),
                Keyword::new("prequal"),
                Keyword::new("random"),
                Keyword::new("maglev"),
                Keyword::new("bounded-hash"),
                Keyword::new("source"),
            ]),
            DefaultValue::Derived(
                "`least-request` when an `http` service uses the pool, else `round-robin`",
            ),
            "The policy; docs/choosing.md compares them.",
        ),
        // Envoy's bound as well. The default is the largest prime below 2^14, which has a hundred entries for each of
        // 163 servers.
        KeySchema::new(
            "size",
            ValueKind::count(3, 5_000_011),
            DefaultValue::count(16_381),
            "`maglev`, `bounded-hash`: the table's size, a prime.",
        ),
        // Below 101 percent no server could be above the mean. A quarter more is the least that HAProxy's manual calls
        // reasonable (`hash-balance-factor`).
        KeySchema::new(
            "load-factor",
            ValueKind::count(101, 1_000),
            DefaultValue::count(125),
            "`bounded-hash`: what a server may have in flight, percent of its share of all.",
        ),
        // A client's whole address by default; a shorter mask makes one client of a network.
        KeySchema::new(
            "mask4",
            ValueKind::count(0, 32),
            DefaultValue::count(32),
            "`source`: bits of an IPv4 address that count.",
        ),
        KeySchema::new(
            "mask6",
            ValueKind::count(0, 128),
            DefaultValue::count(128),
            "`source`: bits of an IPv6 address that count.",
        ),
    ],
};

static HASH_ON_TABLE: TableSchema = TableSchema {
    description: "what is hashed",
    exclusive_groups: &[&["by"], &["header"], &["cookie"], &["query"]],
    keys: &[
        KeySchema::new(
            "by",
            ValueKind::Keyword(&[
                Keyword::new("address"),
                Keyword::new("address-port"),
                Keyword::new("uri"),
                Keyword::new("path"),
                Keyword::new("symmetric"),
                Keyword::new("source-mac"),
            ]),
            DefaultValue::Absent,
            "The client's address, its address and port, the target with its query, or without. For packets: addresses \
             and ports of both ends, so that both directions choose the same server (`symmetric`); the source MAC \
             address of the frame (`source-mac`).",
        ),
        KeySchema::new("header", TOKEN, DefaultValue::Absent, "The value of this header."),
        KeySchema::new("cookie", TOKEN, DefaultValue::Absent, "The value of this cookie."),
        KeySchema::new(
            "query",
            TOKEN,
            DefaultValue::Absent,
            "The value of this parameter of the query.",
        ),
    ],
};

const TOKEN: ValueKind = ValueKind::Text { form: TextFormat::Token, unset: None };

static JUDGE_TABLE: TableSchema = TableSchema {
    description: "dynamic weights",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "active",
            SAY,
            DefaultValue::count(50),
            "Weight of exchanges in flight in the decision, percent.",
        ),
        KeySchema::new(
            "new",
            SAY,
            DefaultValue::count(50),
            "Weight of exchanges begun in the interval, percent.",
        ),
        KeySchema::new(
            "latency",
            SAY,
            DefaultValue::count(0),
            "Weight of the duration of health checks, percent.",
        ),
        KeySchema::new(
            "agent",
            SAY,
            DefaultValue::count(0),
            "Weight of the load that servers report, percent. The four sum to 100.",
        ),
        // As often as probes, which give the latencies.
        KeySchema::new(
            "interval",
            ValueKind::time(100, DAY),
            DefaultValue::millis(2_000),
            "Time between two adjustments.",
        )
        .formerly(&["every"]),
        KeySchema::new(
            "sensitivity",
            ValueKind::count(0, 100),
            DefaultValue::count(5),
            "Weights are updated when they change by more than this percentage of their sum.",
        ),
        // 100 is no smoothing.
        KeySchema::new(
            "smoothing",
            ValueKind::count(100, 10_000),
            DefaultValue::count(150),
            "In percent: a weight moves by the fraction 100/`smoothing` towards its target.",
        ),
        // Above 256 a weight would exceed the range of servers' own weights.
        KeySchema::new(
            "max-weight",
            ValueKind::count(2, 256),
            DefaultValue::count(20),
            "The largest weight; the smallest is 1, and a server with average load has half of it.",
        )
        .formerly(&["bound"]),
    ],
};

/// A share in percent; 0 leaves a measure out.
const SAY: ValueKind = ValueKind::count(0, 100);
