//! Describes how a pool stands by its requests when servers fail or are full: `retry`, `eject`, `breaker` and `shed` of
//! `[pool.NAME]`, and `priority` of services and rules.

use std::borrow::Cow;

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table};
use super::super::value::Value;
use crate::line::{HIGHEST, MIDDLE};

/// `retry`.
pub const RETRY: Key = Key::new(
    "retry",
    Kind::table(&RETRY_TABLE),
    Fallback::Inner,
    "What further attempts may cost, and which answers ask for one.",
)
.proxy();

/// `eject`.
pub const EJECT: Key = Key::new(
    "eject",
    Kind::Table { table: &EJECT_TABLE, short: Short::None, unset: Some("off") },
    Fallback::Inner,
    "When a server is put out for a while for what it answers; `off`: only probes and connections judge.",
)
.http();

/// `breaker`.
pub const BREAKER: Key = Key::new(
    "breaker",
    Kind::table(&BREAKER_TABLE),
    Fallback::Inner,
    "Circuit breakers: what may be under way at a time over all workers; what exceeds it is refused at once with 503 and \
     the cause `circuit-open`, `tcp` connections with a reset.",
)
.proxy();

/// `shed`.
pub const SHED: Key = Key::new(
    "shed",
    Kind::Table { table: &SHED_TABLE, short: Short::Key("target"), unset: Some("off") },
    Fallback::unset("off"),
    "When the queue for a server below its cap is held to what servers take in time: the newest of the lowest class is \
     refused with 503 and the cause `overload-shed`. Short form: the target.",
)
.proxy();

/// `hedge`.
pub const HEDGE: Key = Key::new(
    "hedge",
    Kind::Table { table: &HEDGE_TABLE, short: Short::Key("after"), unset: Some("off") },
    Fallback::unset("off"),
    "When an idempotent request is sent to a second server as well, because the first one has not begun to answer; it is a \
     further attempt within `retries` and the budget, and the first answer is passed on. Short form: after how long.",
)
.http();

static HEDGE_TABLE: Table = Table {
    what: "the asking of a second server",
    choices: &[&["after"], &["percentile"]],
    keys: &[
        Key::new(
            "after",
            Kind::time(1, 60_000),
            Fallback::Absent,
            "When the first one has been silent for so long.",
        ),
        Key::new(
            "percentile",
            Kind::count(50, 99),
            Fallback::Derived("95 where `after` is not written"),
            "When it has been silent for longer than so many percent of the pool's answers took to begin in the last 5 to 10 s.",
        ),
        Key::new(
            "at-least",
            Kind::time(0, 60_000),
            Fallback::millis(5),
            "Not sooner than this, whatever the percentile is.",
        ),
    ],
};

/// `priority` of a service.
pub const PRIORITY: Key = Key::new(
    "priority",
    Kind::Table { table: &PRIORITY_TABLE, short: Short::Key("class"), unset: None },
    Fallback::Inner,
    "Which class its requests, or `tcp` connections, have in the queue of a pool: a higher one leaves it first, a lower one \
     is shed first. Short form: the class.",
)
.proxy();

/// `priority` of a rule.
pub const OF_RULE: Key = Key::new(
    "priority",
    Kind::count(0, HIGHEST as u64),
    Fallback::Absent,
    "The class in the queue of a pool, before what the service and its header say.",
)
.proxy();

static SHED_TABLE: Table = Table {
    what: "the shedding of a queue",
    choices: &[],
    keys: &[
        Key::new(
            "target",
            Kind::time(1, 60_000),
            Fallback::millis(50),
            "The longest wait that is still good.",
        ),
        Key::new(
            "interval",
            Kind::time(10, 600_000),
            Fallback::millis(500),
            "Nothing is shed before the longest wait stood above the target for so long.",
        ),
    ],
};

static PRIORITY_TABLE: Table = Table {
    what: "a priority",
    choices: &[],
    keys: &[
        Key::new(
            "class",
            Kind::count(0, HIGHEST as u64),
            Fallback::count(MIDDLE as u64),
            "Of requests of which neither a rule nor `header` says one.",
        ),
        Key::new(
            "header",
            Kind::Text { form: Form::Token, unset: None },
            Fallback::Absent,
            "The field of a request whose value, one digit, is its class; another value says nothing. Whoever may write it \
             chooses.",
        )
        .http(),
    ],
};

const MOST: u64 = 10_000_000;

static BREAKER_TABLE: Table = Table {
    what: "circuit breakers",
    choices: &[],
    keys: &[
        Key::new(
            "connections",
            Kind::count_or(1, MOST, "off"),
            Fallback::unset("off"),
            "Open connections to the servers of the pool, idle ones included. Before a request is refused an idle one of \
             its worker is closed.",
        ),
        Key::new(
            "pending",
            Kind::count_or(0, MOST, "off"),
            Fallback::unset("off"),
            "Requests that wait for a server below its cap.",
        ),
        Key::new(
            "requests",
            Kind::count_or(1, MOST, "off"),
            Fallback::unset("off"),
            "Requests, or `tcp` connections, that servers have.",
        ),
        Key::new(
            "retries",
            Kind::count_or(0, MOST, "off"),
            Fallback::unset("off"),
            "Requests whose further attempt is under way; besides `retry.budget`.",
        ),
    ],
};

static RETRY_TABLE: Table = Table {
    what: "the terms of further attempts",
    choices: &[],
    keys: &[
        Key::new(
            "budget",
            Kind::count_or(0, 100, "off"),
            Fallback::count(20),
            "Further attempts, percent of the requests of the window; `off`: as many as `retries` allows each.",
        ),
        Key::new(
            "at-least",
            Kind::count(0, 100_000),
            Fallback::count(10),
            "Further attempts a second that are allowed besides, so that few requests have a budget too.",
        ),
        Key::new("window", Kind::time(1_000, 60_000), Fallback::millis(10_000), "What is looked back on."),
        Key::new(
            "back-off",
            Kind::time(0, 60_000),
            Fallback::millis(25),
            "A random time up to this is waited before the second further attempt, and before the first if no other \
             server is up; each further time it is twice as long.",
        ),
        Key::new(
            "back-off-most",
            Kind::time(0, 60_000),
            Fallback::millis(250),
            "The longest of these times.",
        ),
        Key::new(
            "on",
            Kind::Status,
            Fallback::Absent,
            "Answers that are not passed on while another attempt may be made: of idempotent requests whose body is \
             still held. Not written: none.",
        )
        .http(),
        Key::new(
            "on-timeout",
            Kind::Flag,
            Fallback::Is(Value::Flag(false)),
            "Another attempt, at another server, for an idempotent request that a server took and did not begin to answer \
             within `timeout.first-byte`, or stopped taking for `timeout.between-bytes`. The server may still be at work on it.",
        )
        .http(),
        Key::new(
            "on-malformed",
            Kind::Flag,
            Fallback::Is(Value::Flag(false)),
            "Another attempt, at another server, for an idempotent request whose answer breaks the rules of HTTP.",
        )
        .http(),
    ],
};

static EJECT_TABLE: Table = Table {
    what: "an ejection",
    choices: &[],
    keys: &[
        Key::new(
            "failures",
            Kind::count(1, 10_000),
            Fallback::count(5),
            "Failures in a row, over all workers, that put a server out.",
        ),
        Key::new(
            "rate",
            Kind::count(1, 100),
            Fallback::count(50),
            "Failures of the interval, percent of its answers and failures, that put a server out.",
        ),
        Key::new(
            "cut-rate",
            Kind::count(1, 100),
            Fallback::count(5),
            "Answers cut in the middle, percent likewise and at least three, that put a server out.",
        ),
        Key::new(
            "volume",
            Kind::count(1, 1_000_000),
            Fallback::count(10),
            "Answers and failures of the interval below which `rate` proves nothing.",
        ),
        Key::new(
            "interval",
            Kind::time(200, 60_000),
            Fallback::millis(1_000),
            "What is looked back on.",
        ),
        Key::new(
            "time",
            Kind::time(100, 86_400_000),
            Fallback::millis(5_000),
            "The first time out; each further one is twice as long, less a random share of a tenth.",
        ),
        Key::new(
            "most",
            Kind::time(100, 86_400_000),
            Fallback::millis(300_000),
            "The longest time out.",
        ),
        Key::new(
            "share",
            Kind::count(0, 100),
            Fallback::count(50),
            "Servers that may be out at a time, percent of those that are to take work, rounded down; those that are \
             down count.",
        ),
        Key::new(
            "on",
            Kind::Status,
            Fallback::Is(Value::Status(Cow::Borrowed(&[(502, 504)]))),
            "Answers that count as failures.",
        ),
    ],
};
