//! Describes how a pool stands by its requests when servers fail: `retry` and `eject` of `[pool.NAME]`.

use std::borrow::Cow;

use super::super::schema::{Fallback, Key, Kind, Short, Table};
use super::super::value::Value;

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
