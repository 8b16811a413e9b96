//! Describes how servers of a pool report their load.

use std::borrow::Cow;

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

/// One day, in milliseconds: the bound of the times here.
const DAY: u64 = 86_400_000;

/// Keys that apply only to some kinds of agents, and those kinds.
pub const KEYS_BY_AGENT_KIND: [(&str, &[&str]); 5] = [
    ("path", &["orca"]),
    ("send", &["text"]),
    ("port", &["text", "orca"]),
    ("interval", &["text", "orca"]),
    ("timeout", &["text", "orca"]),
];

pub const AGENT: KeySchema = KeySchema::new(
    "agent",
    ValueKind::Table {
        table: &AGENT_TABLE,
        short: TableShorthand::Key("kind"),
        unset: Some("off"),
    },
    DefaultValue::unset("off"),
    "Agent check: servers report their own load and state. Short form: the kind alone.",
);

static AGENT_TABLE: TableSchema = TableSchema {
    description: "an agent",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "kind",
            ValueKind::Keyword(&[
                Keyword::new("text"),
                Keyword::new("orca"),
                Keyword::new("responses").formerly(&["answers"]),
            ]),
            DefaultValue::keyword("text"),
            "`text`: one line as in HAProxy's agent-check (`steelyard agent` serves it). `orca`: a report is \
             fetched over HTTP. `responses`: the report is in the header `endpoint-load-metrics` of responses (`http` \
             services).",
        ),
        KeySchema::new(
            "port",
            ValueKind::count_or_keyword(1, 65_535, "server"),
            DefaultValue::count(9_707),
            "`text`, `orca`: where the agent listens on the server's address.",
        ),
        KeySchema::new(
            "path",
            ValueKind::Text { form: TextFormat::RequestPath, unset: None },
            DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed("/orca"))),
            "`orca`: what is fetched.",
        ),
        KeySchema::new(
            "send",
            ValueKind::Text { form: TextFormat::FreeText, unset: None },
            DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed(""))),
            "`text`: what is sent first.",
        ),
        // As often as HAProxy's `agent-inter`: 2 s.
        KeySchema::new(
            "interval",
            ValueKind::time(10, DAY),
            DefaultValue::millis(2_000),
            "Time between two checks.",
        )
        .formerly(&["every"]),
        // Half of `interval`: a late report is followed by the next one in time.
        KeySchema::new(
            "timeout",
            ValueKind::time(1, DAY),
            DefaultValue::millis(1_000),
            "Timeout of one check; at most `interval`.",
        ),
        KeySchema::new(
            "max-age",
            ValueKind::time(100, DAY),
            DefaultValue::millis(10_000),
            "An older report expires: the load is then unknown, which is not the same as none.",
        )
        .formerly(&["age"]),
    ],
};
