//! Describes `[[service.NAME.rule]]`: conditions and what is done with what fits them.
//!
//! One table for both planes: keys that only one of them can carry are marked, and refused in the other.

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};
use super::super::value::Value;
use super::{operate::DAYS, resilience, rewrite};

/// Rules of one file.
pub const RULES: usize = 20_000;

/// The list of rules of a service.
pub const RULE: Key = Key::new(
    "rule",
    Kind::List { table: &RULE_TABLE, short: Short::None, most: RULES },
    Fallback::Absent,
    "What is done with some requests or connections, in order; the first rule that fits counts, else the service's pool. \
     At most 1024 where packets are forwarded.",
);

/// One rule.
pub static RULE_TABLE: Table = Table {
    what: "a rule",
    choices: &[&["pool"], &["split"], &["redirect"], &["answer"], &["deny"]],
    keys: &[
        Key::new(
            "name",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Derived("`rule-N` by its place, from 1"),
            "Its name in status, report and metrics. Counts stay with a rule that is the same after a change.",
        )
        .proxy(),
        Key::new(
            "when",
            Kind::table(&WHEN_TABLE),
            Fallback::Inner,
            "What must hold: each key that is written, of several values of a key one. Nothing: always.",
        ),
        Key::new(
            "pool",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Derived("the service's pool; required where packets are forwarded"),
            "Name of the pool that takes it.",
        ),
        Key::new(
            "split",
            Kind::List { table: &SPLIT_TABLE, short: Short::None, most: RULES },
            Fallback::Absent,
            "Pools that share it by weight.",
        )
        .proxy(),
        Key::new(
            "redirect",
            Kind::Table { table: &REDIRECT_TABLE, short: Short::Key("to"), unset: None },
            Fallback::Absent,
            "The client is sent elsewhere. Short form: where to.",
        )
        .http(),
        Key::new(
            "answer",
            Kind::Table { table: &ANSWER_TABLE, short: Short::Key("status"), unset: None },
            Fallback::Absent,
            "A fixed answer. Short form: its status.",
        )
        .http(),
        Key::new(
            "deny",
            Kind::Flag,
            Fallback::Absent,
            "Refused: 403 with the cause `rule-denied` (`http`), a reset (`tcp`).",
        )
        .proxy(),
        Key::new(
            "mirror",
            Kind::Table { table: &MIRROR_TABLE, short: Short::Key("pool"), unset: None },
            Fallback::Absent,
            "Copies of requests go to a further pool, whose answers are dropped. Short form: the pool.",
        )
        .http(),
        Key::new(
            "rewrite",
            Kind::Table { table: &rewrite::TABLE, short: Short::None, unset: None },
            Fallback::Absent,
            "What is changed in the request and its answer.",
        )
        .http(),
        Key::new(
            "limit",
            Kind::Table { table: &super::rate_limit::LIMIT_TABLE, short: Short::Key("rate"), unset: None },
            Fallback::Absent,
            "At most so many a second; what comes above is refused: 429 with the cause `rate-limited` (`http`), a reset \
             (`tcp`). Short form: the rate.",
        )
        .proxy(),
        resilience::OF_RULE,
        Key::new(
            "without-servers",
            Kind::Words(&[Word::of("pool"), Word::of("next"), Word::of("answer")]),
            Fallback::word("pool"),
            "When no server of its pool may take work: as the pool's `all-down` says, on to the next rule, or 503 at \
             once.",
        )
        .proxy(),
    ],
};

const POOL: Key = Key::new(
    "pool",
    Kind::Text { form: Form::Name, unset: None },
    Fallback::Required,
    "Name of the pool.",
);

static SPLIT_TABLE: Table = Table {
    what: "a part of a split",
    choices: &[],
    keys: &[
        POOL,
        Key::new(
            "weight",
            Kind::count(0, 1_000_000),
            Fallback::count(1),
            "Its share among those of the rule.",
        ),
    ],
};

static REDIRECT_TABLE: Table = Table {
    what: "a redirect",
    choices: &[],
    keys: &[
        Key::new(
            "to",
            Kind::Text { form: Form::Template, unset: None },
            Fallback::Required,
            "Where to. `{host}`, `{path}`, `{query}` (with its `?`), `{rest}` (what the path's last `*` stood for) and `{1}` \
             to `{9}` (groups of `path-regex`) are put in, encoded where a URL needs it. An empty `{rest}` takes the slash \
             before it along.",
        ),
        Key::new(
            "status",
            Kind::count(301, 308),
            Fallback::count(302),
            "301, 302, 303, 307 or 308 (RFC 9110 §15.4).",
        ),
    ],
};

static ANSWER_TABLE: Table = Table {
    what: "a fixed answer",
    choices: &[],
    keys: &[
        Key::new("status", Kind::count(200, 599), Fallback::Required, "Its status."),
        Key::new(
            "body",
            Kind::Text { form: Form::Free, unset: None },
            Fallback::Is(Value::Text(std::borrow::Cow::Borrowed(""))),
            "Its body.",
        ),
        Key::new(
            "type",
            Kind::Text { form: Form::Visible, unset: None },
            Fallback::Is(Value::Text(std::borrow::Cow::Borrowed("text/plain"))),
            "Its Content-Type.",
        ),
        Key::new(
            "headers",
            Kind::Lines { form: Form::Field, most: 16 },
            Fallback::Is(Value::Texts(Vec::new())),
            "Further fields.",
        ),
    ],
};

static MIRROR_TABLE: Table = Table {
    what: "a mirror",
    choices: &[],
    keys: &[
        POOL,
        Key::new("percent", Kind::count(1, 100), Fallback::count(100), "Of how many requests."),
        Key::new(
            "at-once",
            Kind::count(1, 10_000),
            Fallback::count(64),
            "Copies under way per worker; further ones are dropped and counted.",
        ),
    ],
};

/// A condition.
pub static WHEN_TABLE: Table = Table {
    what: "a condition",
    choices: &[],
    keys: &[
        Key::new("client", Kind::Prefixes, Fallback::Absent, "Networks of clients."),
        Key::new("client-port", Kind::PortRange, Fallback::Absent, "The client's port, or a range."),
        Key::new(
            "hours",
            Kind::Hours,
            Fallback::Absent,
            "A part of the day, local time as in `schedule`; it may pass midnight.",
        ),
        Key::new(
            "days",
            Kind::WordList(&DAYS),
            Fallback::Absent,
            "Days of the week, local time; with `hours`, those on which they begin.",
        )
        .proxy(),
        Key::new(
            "tos",
            Kind::count(0, 255),
            Fallback::Absent,
            "The type of service or traffic class byte.",
        )
        .packets(),
        Key::new(
            "rate",
            Kind::count(1, 100_000_000),
            Fallback::Absent,
            "At most so many new connections (`http`: requests) a second; those beyond go on to the next rule.",
        ),
        texts("host", Form::HostPattern, "The host asked for, without its port: `\"shop.example\"`, or `\"*.shop.example\"` for \
             every name below.")
        .http(),
        texts("path", Form::PathPattern, "The path, without the query: `\"/about\"`, `\"/api/*\"` for what begins so, or with `*` (not \
             over a `/`), `**` and `?` in it. See the service's `path-normalization`.")
        .http(),
        texts("path-regex", Form::Pattern, "A regular expression that the whole path fits.").http(),
        texts("method", Form::Method, "The method.").http(),
        texts("header", Form::Match, "A field: `\"name\"` when it is there, `\"name: value\"` when it has the value; `*` in it stands for \
             anything, `?` for one character but `/`, and `\\*`, `\\?`, `\\\\` for themselves.")
        .http(),
        texts("cookie", Form::Cookie, "A cookie: `\"name\"` or `\"name=value\"`, likewise.").http(),
        texts("query", Form::Pair, "A parameter of the query: `\"name\"` or `\"name=value\"`, likewise; a value that fits as it stands \
             or decoded is one.")
            .http(),
        texts("sni", Form::HostPattern, "The name that a TLS client asks for. Where a `tcp` service does not speak TLS itself, the \
             beginning of the connection is read for it and passed on.")
        .proxy(),
        range("active", "Requests or connections under way: `\"100-\"` at least, `\"-99\"` at most, `\"10-20\"`. Whose, `count` says.")
            .proxy(),
        Key::new(
            "count",
            Kind::Words(&[Word::of("rule"), Word::of("pool"), Word::of("service")]),
            Fallback::Derived("`rule`"),
            "`active`: what this rule itself sent on, what is under way at the servers of its pool, or all of the service, \
             also what other rules sent elsewhere.",
        )
        .proxy(),
        range("arrivals", "Connections that the service accepted in the last whole second.").proxy(),
        Key::new(
            "bandwidth",
            Kind::Rate { min: 8_000, max: 10_000_000_000_000, unset: None },
            Fallback::Absent,
            "Holds while the answers that this rule let through stayed below it in the last whole second: bandwidth \
             reserved for the rule.",
        )
        .proxy(),
        Key::new(
            "shared-bandwidth",
            Kind::Rate { min: 8_000, max: 10_000_000_000_000, unset: None },
            Fallback::Absent,
            "Holds while all answers of the service together stayed below it in the last whole second: bandwidth that \
             rules share.",
        )
        .proxy(),
        Key::new(
            "servers",
            Kind::Table { table: &SERVERS_TABLE, short: Short::Key("up"), unset: None },
            Fallback::Absent,
            "The state of a pool. Short form: how many servers are up.",
        )
        .proxy(),
        nested("all", "Conditions that all hold."),
        nested("any", "Conditions of which one holds."),
        Key::new(
            "not",
            Kind::Table { table: &WHEN_TABLE, short: Short::None, unset: None },
            Fallback::Absent,
            "A condition that does not hold.",
        )
        .proxy(),
    ],
};

const fn texts(name: &'static str, form: Form, doc: &'static str) -> Key {
    Key::new(name, Kind::Texts { form, unset: None }, Fallback::Absent, doc)
}

const fn range(name: &'static str, doc: &'static str) -> Key {
    Key::new(name, Kind::Text { form: Form::Range, unset: None }, Fallback::Absent, doc)
}

const fn nested(name: &'static str, doc: &'static str) -> Key {
    let kind = Kind::List { table: &WHEN_TABLE, short: Short::None, most: 100_000 };
    Key::new(name, kind, Fallback::Absent, doc).proxy()
}

static SERVERS_TABLE: Table = Table {
    what: "a state of a pool",
    choices: &[],
    keys: &[
        Key::new(
            "of",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Derived("the rule's pool"),
            "Name of the pool.",
        ),
        range("up", "Servers that are up and take work."),
        range("busy", "Under way at each server that is up, on average."),
        range(
            "load",
            "The load that servers tell of themselves, percent, on average over those that tell.",
        ),
        range("each-load", "The same, of every server that tells."),
    ],
};
