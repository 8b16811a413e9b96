//! Describes how a pool stands by its requests when servers fail or are full: `retry`, `eject`, `breaker` and `shed` of
//! `[pool.NAME]`, and `priority` of services and rules.

use std::borrow::Cow;

use super::super::schema::{
    DefaultValue, KeySchema, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use super::super::value::ConfigValue;
use crate::wait_queue::{DEFAULT_CLASS, HIGHEST_CLASS};

pub const RETRY: KeySchema = KeySchema::new(
    "retry",
    ValueKind::table(&RETRY_TABLE),
    DefaultValue::Inner,
    "What further attempts may cost, and which answers ask for one.",
)
.proxy_only();

pub const EJECT: KeySchema = KeySchema::new(
    "eject",
    ValueKind::Table { table: &EJECT_TABLE, short: TableShorthand::None, unset: Some("off") },
    DefaultValue::Inner,
    "When a server is put out for a while for what it answers; `off`: only probes and connections judge.",
)
.http_only();

pub const BREAKER: KeySchema = KeySchema::new(
    "breaker",
    ValueKind::table(&BREAKER_TABLE),
    DefaultValue::Inner,
    "Circuit breakers: what may be under way at a time over all workers; what exceeds it is refused at once with 503 and \
     the cause `circuit-open`, `tcp` connections with a reset.",
)
.proxy_only();

pub const SHED: KeySchema = KeySchema::new(
    "shed",
    ValueKind::Table { table: &SHED_TABLE, short: TableShorthand::Key("target"), unset: Some("off") },
    DefaultValue::unset("off"),
    "When the queue for a server below its cap is held to what servers take in time: the newest of the lowest class is \
     refused with 503 and the cause `overload-shed`. Short form: the target.",
)
.proxy_only();

pub const HEDGE: KeySchema = KeySchema::new(
    "hedge",
    ValueKind::Table { table: &HEDGE_TABLE, short: TableShorthand::Key("after"), unset: Some("off") },
    DefaultValue::unset("off"),
    "When an idempotent request is sent to a second server as well, because the first one has not begun to answer; it is a \
     further attempt within `retries` and the budget, and the first answer is passed on. Short form: after how long.",
)
.http_only();

static HEDGE_TABLE: TableSchema = TableSchema {
    description: "the asking of a second server",
    exclusive_groups: &[&["after"], &["percentile"]],
    keys: &[
        KeySchema::new(
            "after",
            ValueKind::time(1, 60_000),
            DefaultValue::Absent,
            "When the first one has been silent for so long.",
        ),
        KeySchema::new(
            "percentile",
            ValueKind::count(50, 99),
            DefaultValue::Derived("95 where `after` is not written"),
            "When it has been silent for longer than so many percent of the pool's answers took to begin in the last 5 to 10 s.",
        ),
        KeySchema::new(
            "at-least",
            ValueKind::time(0, 60_000),
            DefaultValue::millis(5),
            "Not sooner than this, whatever the percentile is.",
        ),
    ],
};

/// `priority` of a service.
pub const PRIORITY: KeySchema = KeySchema::new(
    "priority",
    ValueKind::Table { table: &PRIORITY_TABLE, short: TableShorthand::Key("class"), unset: None },
    DefaultValue::Inner,
    "Which class its requests, or `tcp` connections, have in the queue of a pool: a higher one leaves it first, a lower one \
     is shed first. Short form: the class.",
)
.proxy_only();

/// `priority` of a rule.
pub const OF_RULE: KeySchema = KeySchema::new(
    "priority",
    ValueKind::count(0, HIGHEST_CLASS as u64),
    DefaultValue::Absent,
    "The class in the queue of a pool, before what the service and its header say.",
)
.proxy_only();

static SHED_TABLE: TableSchema = TableSchema {
    description: "the shedding of a queue",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "target",
            ValueKind::time(1, 60_000),
            DefaultValue::millis(50),
            "The longest wait that is still good.",
        ),
        KeySchema::new(
            "interval",
            ValueKind::time(10, 600_000),
            DefaultValue::millis(500),
            "Nothing is shed before the longest wait stood above the target for so long.",
        ),
    ],
};

static PRIORITY_TABLE: TableSchema = TableSchema {
    description: "a priority",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "class",
            ValueKind::count(0, HIGHEST_CLASS as u64),
            DefaultValue::count(DEFAULT_CLASS as u64),
            "Of requests of which neither a rule nor `header` says one.",
        ),
        KeySchema::new(
            "header",
            ValueKind::Text { form: TextFormat::Token, unset: None },
            DefaultValue::Absent,
            "The field of a request whose value, one digit, is its class; another value says nothing. Whoever may write it \
             chooses.",
        )
        .http_only(),
    ],
};

const MOST: u64 = 10_000_000;

static BREAKER_TABLE: TableSchema = TableSchema {
    description: "circuit breakers",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "connections",
            ValueKind::count_or_keyword(1, MOST, "off"),
            DefaultValue::unset("off"),
            "Open connections to the servers of the pool, idle ones included. Before a request is refused an idle one of \
             its worker is closed.",
        ),
        KeySchema::new(
            "pending",
            ValueKind::count_or_keyword(0, MOST, "off"),
            DefaultValue::unset("off"),
            "Requests that wait for a server below its cap.",
        ),
        KeySchema::new(
            "requests",
            ValueKind::count_or_keyword(1, MOST, "off"),
            DefaultValue::unset("off"),
            "Requests, or `tcp` connections, that servers have.",
        ),
        KeySchema::new(
            "retries",
            ValueKind::count_or_keyword(0, MOST, "off"),
            DefaultValue::unset("off"),
            "Requests whose further attempt is under way; besides `retry.budget`.",
        ),
    ],
};

static RETRY_TABLE: TableSchema = TableSchema {
    description: "the terms of further attempts",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "budget",
            ValueKind::count_or_keyword(0, 100, "off"),
            DefaultValue::count(20),
            "Further attempts, percent of the requests of the window; `off`: as many as `retries` allows each.",
        ),
        KeySchema::new(
            "at-least",
            ValueKind::count(0, 100_000),
            DefaultValue::count(10),
            "Further attempts a second that are allowed besides, so that few requests have a budget too.",
        ),
        KeySchema::new("window", ValueKind::time(1_000, 60_000), DefaultValue::millis(10_000), "What is looked back on."),
        KeySchema::new(
            "back-off",
            ValueKind::time(0, 60_000),
            DefaultValue::millis(25),
            "A random time up to this is waited before the second further attempt, and before the first if no other \
             server is up; each further time it is twice as long.",
        ),
        KeySchema::new(
            "back-off-most",
            ValueKind::time(0, 60_000),
            DefaultValue::millis(250),
            "The longest of these times.",
        ),
        KeySchema::new(
            "on",
            ValueKind::Status,
            DefaultValue::Absent,
            "Answers that are not passed on while another attempt may be made: of idempotent requests whose body is \
             still held. Not written: none.",
        )
        .http_only(),
        KeySchema::new(
            "on-timeout",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Another attempt, at another server, for an idempotent request that a server took and did not begin to answer \
             within `timeout.first-byte`, or stopped taking for `timeout.between-bytes`. The server may still be at work on it.",
        )
        .http_only(),
        KeySchema::new(
            "on-malformed",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Another attempt, at another server, for an idempotent request whose answer breaks the rules of HTTP.",
        )
        .http_only(),
    ],
};

static EJECT_TABLE: TableSchema = TableSchema {
    description: "an ejection",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "failures",
            ValueKind::count(1, 10_000),
            DefaultValue::count(5),
            "Failures in a row, over all workers, that put a server out.",
        ),
        KeySchema::new(
            "rate",
            ValueKind::count(1, 100),
            DefaultValue::count(50),
            "Failures of the interval, percent of its answers and failures, that put a server out.",
        ),
        KeySchema::new(
            "cut-rate",
            ValueKind::count(1, 100),
            DefaultValue::count(5),
            "Answers cut in the middle, percent likewise and at least three, that put a server out.",
        ),
        KeySchema::new(
            "volume",
            ValueKind::count(1, 1_000_000),
            DefaultValue::count(10),
            "Answers and failures of the interval below which `rate` proves nothing.",
        ),
        KeySchema::new(
            "interval",
            ValueKind::time(200, 60_000),
            DefaultValue::millis(1_000),
            "What is looked back on.",
        ),
        KeySchema::new(
            "time",
            ValueKind::time(100, 86_400_000),
            DefaultValue::millis(5_000),
            "The first time out; each further one is twice as long, less a random share of a tenth.",
        ),
        KeySchema::new(
            "most",
            ValueKind::time(100, 86_400_000),
            DefaultValue::millis(300_000),
            "The longest time out.",
        ),
        KeySchema::new(
            "share",
            ValueKind::count(0, 100),
            DefaultValue::count(50),
            "Servers that may be out at a time, percent of those that are to take work, rounded down; those that are \
             down count.",
        ),
        KeySchema::new(
            "on",
            ValueKind::Status,
            DefaultValue::Literal(ConfigValue::Status(Cow::Borrowed(&[(502, 504)]))),
            "Answers that count as failures.",
        ),
    ],
};
