//! Describes how work is shared out: the keys of `[pool.NAME]` and its servers that say so.

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};

const DAY: u64 = 86_400_000;

/// `balance`.
pub const BALANCE: Key = Key::new(
    "balance",
    Kind::Table { table: &BALANCE_TABLE, short: Short::Key("by"), unset: None },
    Fallback::Inner,
    "How a server is chosen. Short form: the word alone.",
);

/// `hash-on`.
pub const HASH_ON: Key = Key::new(
    "hash-on",
    Kind::Table { table: &HASH_ON_TABLE, short: Short::Key("by"), unset: None },
    Fallback::Absent,
    "`maglev`, `bounded-hash`: what is hashed; where a request lacks it, the client's address. Short form: the word \
     alone. Not written: the client's address.",
);

/// `judge`.
pub const JUDGE: Key = Key::new(
    "judge",
    Kind::Table { table: &JUDGE_TABLE, short: Short::None, unset: Some("off") },
    Fallback::unset("off"),
    "Weighs servers again and again by what they have to do and how they do it; `off`: weights stay as written.",
);

/// `slow-start`.
pub const SLOW_START: Key = Key::new(
    "slow-start",
    Kind::time_or(1_000, DAY, "off"),
    Fallback::unset("off"),
    "How long a server that is new or was down takes from a tenth of its share to the whole.",
);

/// `spill-over`.
pub const SPILL_OVER: Key = Key::new(
    "spill-over",
    Kind::count_or(1, 100, "off"),
    Fallback::unset("off"),
    "Percent of the first priority's capacity: while less is up, servers of the next priority help. `off`: they help \
     when nothing of it is up.",
);

/// `locality` of a pool or of the whole process.
pub const HERE: Key = Key::new(
    "locality",
    Kind::Text { form: Form::Name, unset: Some("off") },
    Fallback::unset("off"),
    "Where this balancer is: within a priority, servers of this locality come first; servers without one are near.",
)
.inherited();

/// `locality` of a server.
pub const LOCALITY: Key = Key::new(
    "locality",
    Kind::Text { form: Form::Name, unset: Some("off") },
    Fallback::unset("off"),
    "Where it is; `off`: near.",
);

/// `priority`.
pub const PRIORITY: Key = Key::new(
    "priority",
    Kind::count(1, 9),
    Fallback::Derived("`1`, unless it is a backup or of last resort"),
    "Its rank: work goes to the lowest number that has enough capacity up.",
);

/// `backup`.
pub const BACKUP: Key = Key::new(
    "backup",
    Kind::Flag,
    Fallback::Is(super::super::value::Value::Flag(false)),
    "Behind every priority.",
);

/// `last-resort`.
pub const LAST_RESORT: Key = Key::new(
    "last-resort",
    Kind::Flag,
    Fallback::Is(super::super::value::Value::Flag(false)),
    "Takes work only when no other server may, whatever `spill-over` says.",
);

/// Keys of `balance` that belong to some policies only.
pub const OWNED: [(&str, &[&str]); 4] = [
    ("size", &["maglev", "bounded-hash"]),
    ("load-factor", &["bounded-hash"]),
    ("mask4", &["source"]),
    ("mask6", &["source"]),
];

static BALANCE_TABLE: Table = Table {
    what: "a balance",
    choices: &[],
    keys: &[
        Key::new(
            "by",
            Kind::Words(&[
                Word::of("round-robin"),
                Word::of("least-request"),
                Word::of("least-connections"),
                Word::of("least-bandwidth"),
                Word::of("fastest"),
                Word::of("least-loaded"),
                Word::of("peak-ewma"),
                Word::of("prequal"),
                Word::of("random"),
                Word::of("maglev"),
                Word::of("bounded-hash"),
                Word::of("source"),
            ]),
            Fallback::Derived(
                "`least-request` when an `http` service uses the pool, else `round-robin`",
            ),
            "The policy; the guide to the choice says which is for what.",
        ),
        Key::new(
            "size",
            Kind::count(3, 5_000_011),
            Fallback::count(16_381),
            "`maglev`, `bounded-hash`: the table's size, a prime.",
        ),
        Key::new(
            "load-factor",
            Kind::count(101, 1_000),
            Fallback::count(125),
            "`bounded-hash`: what a server may have in flight, percent of its share of all.",
        ),
        Key::new(
            "mask4",
            Kind::count(0, 32),
            Fallback::count(32),
            "`source`: bits of an IPv4 address that count.",
        ),
        Key::new(
            "mask6",
            Kind::count(0, 128),
            Fallback::count(128),
            "`source`: bits of an IPv6 address that count.",
        ),
    ],
};

static HASH_ON_TABLE: Table = Table {
    what: "what is hashed",
    choices: &[&["by"], &["header"], &["cookie"], &["query"]],
    keys: &[
        Key::new(
            "by",
            Kind::Words(&[
                Word::of("address"),
                Word::of("address-port"),
                Word::of("uri"),
                Word::of("path"),
            ]),
            Fallback::Absent,
            "The client's address, its address and port, the target with its query, or without.",
        ),
        Key::new("header", TOKEN, Fallback::Absent, "The value of this header."),
        Key::new("cookie", TOKEN, Fallback::Absent, "The value of this cookie."),
        Key::new("query", TOKEN, Fallback::Absent, "The value of this parameter of the query."),
    ],
};

const TOKEN: Kind = Kind::Text { form: Form::Token, unset: None };

static JUDGE_TABLE: Table = Table {
    what: "a judge",
    choices: &[],
    keys: &[
        Key::new("active", SAY, Fallback::count(50), "Say of exchanges in flight, percent."),
        Key::new(
            "new",
            SAY,
            Fallback::count(50),
            "Say of exchanges begun in the interval, percent.",
        ),
        Key::new("latency", SAY, Fallback::count(0), "Say of the time that probes take, percent."),
        Key::new(
            "agent",
            SAY,
            Fallback::count(0),
            "Say of the load that servers report, percent. The four make 100.",
        ),
        Key::new("every", Kind::time(100, DAY), Fallback::millis(2_000), "Between two judgements."),
        Key::new(
            "sensitivity",
            Kind::count(0, 100),
            Fallback::count(5),
            "Weights are published when they change by more than so many percent of their sum.",
        ),
        Key::new(
            "smoothing",
            Kind::count(100, 10_000),
            Fallback::count(150),
            "In percent: a new weight goes the part 100/`smoothing` of the way.",
        ),
        Key::new(
            "bound",
            Kind::count(2, 256),
            Fallback::count(20),
            "The largest weight; the smallest is 1, an untroubled server has half of it.",
        ),
    ],
};

const SAY: Kind = Kind::count(0, 100);
