//! Describes `limit` of a rule: how much it lets through.

use super::super::schema::{Fallback, Form, Key, Kind, Table, Word};

/// `limit` of a rule.
pub static LIMIT_TABLE: Table = Table {
    what: "a rate limit",
    choices: &[],
    keys: &[
        Key::new("rate", Kind::count(1, 100_000_000), Fallback::Required, "So many a second."),
        Key::new(
            "burst",
            Kind::count(1, 100_000_000),
            Fallback::Derived("the rate"),
            "So many at once after a pause.",
        ),
        Key::new(
            "by",
            Kind::Words(&[Word::of("rule"), Word::of("address"), Word::of("header")]),
            Fallback::word("rule"),
            "What is counted apart: all that fits the rule together, each client's network, or each value of `header`.",
        ),
        Key::new(
            "mask4",
            Kind::count(1, 32),
            Fallback::Derived("32"),
            "`by = \"address\"`: bits of an IPv4 address that count.",
        ),
        Key::new(
            "mask6",
            Kind::count(1, 128),
            Fallback::Derived("64"),
            "`by = \"address\"`: bits of an IPv6 address that count. A single machine commonly has all addresses of 64 bits.",
        ),
        Key::new(
            "header",
            Kind::Text { form: Form::Token, unset: None },
            Fallback::Absent,
            "`by = \"header\"`: its name. Requests without it count together.",
        )
        .http(),
        Key::new(
            "entries",
            Kind::count(64, 4_194_304),
            Fallback::count(65_536),
            "Clients or values that are remembered at a time, about 64 bytes each; the oldest goes first.",
        ),
    ],
};
