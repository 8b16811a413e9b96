//! Describes `limit` of a rule: its rate limit.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, TableSchema, TextFormat, ValueKind};

pub static LIMIT_TABLE: TableSchema = TableSchema {
    description: "a rate limit",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "rate",
            ValueKind::count(1, 100_000_000),
            DefaultValue::Required,
            "So many a second.",
        ),
        KeySchema::new(
            "burst",
            ValueKind::count(1, 100_000_000),
            DefaultValue::Derived("the rate"),
            "So many at once after a pause.",
        ),
        KeySchema::new(
            "by",
            ValueKind::Keyword(&[
                Keyword::new("rule"),
                Keyword::new("address"),
                Keyword::new("header"),
            ]),
            DefaultValue::keyword("rule"),
            "What is counted apart: all that fits the rule together, each client's network, or each value of `header`.",
        ),
        KeySchema::new(
            "mask4",
            ValueKind::count(1, 32),
            DefaultValue::Derived("32"),
            "`by = \"address\"`: bits of an IPv4 address that count.",
        ),
        // A /64 is what one machine or one home has.
        KeySchema::new(
            "mask6",
            ValueKind::count(1, 128),
            DefaultValue::Derived("64"),
            "`by = \"address\"`: bits of an IPv6 address that count. A single machine commonly has all addresses of 64 bits.",
        ),
        KeySchema::new(
            "header",
            ValueKind::Text { form: TextFormat::Token, unset: None },
            DefaultValue::Absent,
            "`by = \"header\"`: its name. Requests without it count together.",
        )
        .http_only(),
        KeySchema::new(
            "entries",
            ValueKind::count(64, 4_194_304),
            DefaultValue::count(65_536),
            "Clients or values that are remembered at a time, about 64 bytes each; the oldest goes first.",
        ),
    ],
};
