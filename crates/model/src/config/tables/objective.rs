//! Describes `objective` of a service: what it promises its users.

use super::super::schema::{Fallback, Key, Kind, Short, Table};
use super::super::value::Value;

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
/// A promise below this is none.
const LEAST: u64 = 500_000;
/// A promise without any room cannot be kept.
const MOST: u64 = 999_999;

/// `objective`.
pub const OBJECTIVE: Key = Key::new(
    "objective",
    Kind::Table { table: &OBJECTIVE_TABLE, short: Short::Key("available"), unset: None },
    Fallback::Absent,
    "What users are promised: how many operations succeed, and how many are fast. What is left of it is counted, and an \
     alarm tells when it goes too quickly. Short form: `available`.",
)
.proxy();

static OBJECTIVE_TABLE: Table = Table {
    what: "an objective",
    choices: &[],
    keys: &[
        Key::new(
            "available",
            Kind::Share(LEAST, MOST, Some("off")),
            Fallback::Is(Value::Share(999_000)),
            "Operations that succeed: an answer below 500, or a `tcp` connection that ended in order. What a client spoils \
             itself does not count.",
        ),
        Key::new(
            "fast",
            Kind::time(1, HOUR),
            Fallback::Absent,
            "An operation that takes no longer is fast, from its first byte to the answer's last.",
        )
        .http(),
        Key::new(
            "share",
            Kind::Share(LEAST, MOST, None),
            Fallback::Is(Value::Share(990_000)),
            "Operations that are fast; those that fail are not.",
        )
        .http(),
        Key::new(
            "window",
            Kind::time(DAY, 90 * DAY),
            Fallback::millis(30 * DAY),
            "Over so much time. After a restart it is taken from the history.",
        ),
        Key::new(
            "at-least",
            Kind::count(1, 1_000_000),
            Fallback::count(10),
            "Bad operations in an alarm's longer span below which it is not raised.",
        ),
        Key::new(
            "networks",
            Kind::count(1, 4_096),
            Fallback::count(64),
            "Networks of clients that are told apart; what is more is counted together.",
        ),
        Key::new("mask4", Kind::count(1, 32), Fallback::count(24), "Bits of a network in IPv4."),
        Key::new("mask6", Kind::count(1, 128), Fallback::count(56), "Bits of a network in IPv6."),
    ],
};
