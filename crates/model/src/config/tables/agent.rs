//! Describes how servers of a pool tell their load.

use std::borrow::Cow;

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};
use super::super::value::Value;

const DAY: u64 = 86_400_000;

/// Keys that mean something only for some kinds, and those kinds.
pub const OF_AGENTS: [(&str, &[&str]); 5] = [
    ("path", &["orca"]),
    ("send", &["text"]),
    ("port", &["text", "orca"]),
    ("every", &["text", "orca"]),
    ("timeout", &["text", "orca"]),
];

/// The agents of a pool's servers.
pub const AGENT: Key = Key::new(
    "agent",
    Kind::Table { table: &AGENT_TABLE, short: Short::Key("kind"), unset: Some("off") },
    Fallback::unset("off"),
    "How servers tell their own load and wishes. Short form: the kind alone.",
);

static AGENT_TABLE: Table = Table {
    what: "an agent",
    choices: &[],
    keys: &[
        Key::new(
            "kind",
            Kind::Words(&[Word::of("text"), Word::of("orca"), Word::of("answers")]),
            Fallback::word("text"),
            "`text`: one line as HAProxy's agent-check (`steelyard agent` serves it); `orca`: a report is fetched over \
             HTTP; `answers`: it stands in the field `endpoint-load-metrics` of answers (`http` services).",
        ),
        Key::new(
            "port",
            Kind::count_or(1, 65_535, "server"),
            Fallback::count(9_707),
            "`text`, `orca`: where the agent listens on the server's address.",
        ),
        Key::new(
            "path",
            Kind::Text { form: Form::RequestPath, unset: None },
            Fallback::Is(Value::Text(Cow::Borrowed("/orca"))),
            "`orca`: what is fetched.",
        ),
        Key::new(
            "send",
            Kind::Text { form: Form::Free, unset: None },
            Fallback::Is(Value::Text(Cow::Borrowed(""))),
            "`text`: what is sent first.",
        ),
        Key::new("every", Kind::time(10, DAY), Fallback::millis(2_000), "Between two questions."),
        Key::new(
            "timeout",
            Kind::time(1, DAY),
            Fallback::millis(1_000),
            "One question; at most `every`.",
        ),
        Key::new(
            "age",
            Kind::time(100, DAY),
            Fallback::millis(10_000),
            "A report that is older counts no more: the load is not known, which is not the same as none.",
        ),
    ],
};
