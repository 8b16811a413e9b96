//! Describes `[[service.NAME.rule]]`: conditions, and actions for matching requests or connections.
//!
//! One table serves both planes: keys that only one plane supports are marked, and rejected in the other.

use super::rewrite::TABLE;
use crate::config::schedule::DAYS;
use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;
use crate::config::{auth, body_limit, request_priority, rule_overrides};

/// Limit for the rules of one file.
/// More than a file of the largest size can hold.
pub const RULES: usize = 50_000;

pub const RULE: KeySchema = KeySchema::new(
    "rule",
    ValueKind::List { table: &RULE_TABLE, short: TableShorthand::None, most: RULES },
    DefaultValue::Absent,
    "Routing rules, tried in order: the first rule that matches decides, else the service's pool. At most 1024 for \
     services that forward packets.",
);

pub static RULE_TABLE: TableSchema = TableSchema {
    description: "a rule",
    exclusive_groups: &[&["pool"], &["split"], &["redirect"], &["answer"], &["deny"]],
    keys: &[
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Derived("`rule-N` by its place, from 1"),
            "Its name in status, report and metrics. Counters stay with a rule that is unchanged after a reload.",
        )
        .proxy_only(),
        KeySchema::new(
            "when",
            ValueKind::table(&WHEN_TABLE),
            DefaultValue::Inner,
            "Conditions: every key must match, with one of its values. Without keys the rule always matches.",
        ),
        KeySchema::new(
            "pool",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Derived("the service's pool; required for services that forward packets"),
            "The pool for matching requests.",
        ),
        KeySchema::new(
            "split",
            ValueKind::List { table: &SPLIT_TABLE, short: TableShorthand::None, most: RULES },
            DefaultValue::Absent,
            "Pools that share matching requests by weight.",
        )
        .proxy_only(),
        KeySchema::new(
            "redirect",
            ValueKind::Table { table: &REDIRECT_TABLE, short: TableShorthand::Key("to"), unset: None },
            DefaultValue::Absent,
            "Redirect the client. Short form: the target.",
        )
        .http_only(),
        KeySchema::new(
            "answer",
            ValueKind::Table { table: &ANSWER_TABLE, short: TableShorthand::Key("status"), unset: None },
            DefaultValue::Absent,
            "A fixed response. Short form: its status.",
        )
        .http_only(),
        KeySchema::new(
            "deny",
            ValueKind::Flag,
            DefaultValue::Absent,
            "Refused: 403 with the cause `rule-denied` (`http`), a reset (`tcp`).",
        )
        .proxy_only(),
        KeySchema::new(
            "mirror",
            ValueKind::Table { table: &MIRROR_TABLE, short: TableShorthand::Key("pool"), unset: None },
            DefaultValue::Absent,
            "Mirroring (traffic shadowing): copies of requests go to another pool, whose responses are dropped. \
             Short form: the pool.",
        )
        .http_only(),
        KeySchema::new(
            "rewrite",
            ValueKind::Table { table: &TABLE, short: TableShorthand::None, unset: None },
            DefaultValue::Absent,
            "Changes of the request and its response.",
        )
        .http_only(),
        KeySchema::new(
            "limit",
            ValueKind::Table { table: &super::rate_limit::LIMIT_TABLE, short: TableShorthand::Key("rate"), unset: None },
            DefaultValue::Absent,
            "Rate limit: requests above the rate are refused with 429 and the cause `rate-limited` (`http`), or a \
             reset (`tcp`). Short form: the rate.",
        )
        .proxy_only(),
        auth::OF_RULE,
        rule_overrides::TIMEOUT,
        rule_overrides::RETRIES,
        rule_overrides::RETRY,
        rule_overrides::BUFFER,
        body_limit::OF_RULE,
        request_priority::OF_RULE,
        KeySchema::new(
            "when-unavailable",
            ValueKind::Keyword(&[Keyword::new("pool"), Keyword::new("next"), Keyword::new("answer")]),
            DefaultValue::keyword("pool"),
            "When no server of the rule's pool is available: `pool`: as the pool's `all-down` says; `next`: try the \
             next rule; `answer`: 503 at once.",
        ).formerly(&["without-servers"])
        .proxy_only(),
    ],
};

const POOL: KeySchema = KeySchema::new(
    "pool",
    ValueKind::Text { form: TextFormat::Name, unset: None },
    DefaultValue::Required,
    "Name of the pool.",
);

static SPLIT_TABLE: TableSchema = TableSchema {
    description: "a part of a split",
    exclusive_groups: &[],
    keys: &[
        POOL,
        KeySchema::new(
            "weight",
            ValueKind::count(0, 1_000_000),
            DefaultValue::count(1),
            "Its share among those of the rule.",
        ),
    ],
};

static REDIRECT_TABLE: TableSchema = TableSchema {
    description: "a redirect",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "to",
            ValueKind::Text { form: TextFormat::Template, unset: None },
            DefaultValue::Required,
            "Where to. `{host}`, `{host-name}` (without its port), `{path}`, `{query}` (with its `?`), `{more-query}` (the same behind a query of the text, with `&`), `{rest}` (what the path's last `*` stood for) and `{1}` \
             to `{9}` (groups of `path-regex`) are put in, encoded where a URL needs it. An empty `{rest}` takes the slash \
             before it along.",
        ),
        // 301, 302, 303, 307 and 308 (RFC 9110 §15.4); the others in between are refused when the file is verified.
        KeySchema::new(
            "status",
            ValueKind::count(301, 308),
            DefaultValue::count(302),
            "301, 302, 303, 307 or 308 (RFC 9110 §15.4).",
        ),
        KeySchema::new(
            "headers",
            ValueKind::Lines { form: TextFormat::Field, most: 16 },
            DefaultValue::Literal(ConfigValue::Texts(Vec::new())),
            "Further fields.",
        ),
    ],
};

static ANSWER_TABLE: TableSchema = TableSchema {
    description: "a fixed answer",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new("status", ValueKind::count(200, 599), DefaultValue::Required, "Its status."),
        KeySchema::new(
            "body",
            ValueKind::Text { form: TextFormat::FreeText, unset: None },
            DefaultValue::Literal(ConfigValue::Text(std::borrow::Cow::Borrowed(""))),
            "Its body.",
        ),
        KeySchema::new(
            "type",
            ValueKind::Text { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Literal(ConfigValue::Text(std::borrow::Cow::Borrowed("text/plain"))),
            "Its Content-Type.",
        ),
        KeySchema::new(
            "headers",
            ValueKind::Lines { form: TextFormat::Field, most: 16 },
            DefaultValue::Literal(ConfigValue::Texts(Vec::new())),
            "Further fields.",
        ),
    ],
};

static MIRROR_TABLE: TableSchema = TableSchema {
    description: "a mirror",
    exclusive_groups: &[],
    keys: &[
        POOL,
        KeySchema::new(
            "percent",
            ValueKind::count(1, 100),
            DefaultValue::count(100),
            "Percentage of requests to copy.",
        ),
        // A mirror that hangs holds no more than this many copies.
        KeySchema::new(
            "max-concurrent",
            ValueKind::count(1, 10_000),
            DefaultValue::count(64),
            "Copies in flight per worker; further ones are dropped and counted.",
        )
        .formerly(&["at-once"]),
    ],
};

pub static WHEN_TABLE: TableSchema = TableSchema {
    description: "a condition",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new("client", ValueKind::Prefixes, DefaultValue::Absent, "Networks of clients."),
        KeySchema::new("client-port", ValueKind::PortRange, DefaultValue::Absent, "The client's port, or a range."),
        KeySchema::new(
            "hours",
            ValueKind::DailyWindow,
            DefaultValue::Absent,
            "Time of day, local time as in `schedule`; it may pass midnight.",
        ),
        KeySchema::new(
            "days",
            ValueKind::KeywordList(&DAYS),
            DefaultValue::Absent,
            "Days of the week, local time; with `hours`, those on which they begin.",
        ),
        // The whole byte: DSCP and ECN (RFC 2474 §3, RFC 3168 §5).
        KeySchema::new(
            "tos",
            ValueKind::count(0, 255),
            DefaultValue::Absent,
            "The type of service or traffic class byte.",
        )
        .packets_only(),
        KeySchema::new(
            "rate",
            ValueKind::count(1, 100_000_000),
            DefaultValue::Absent,
            "Matches at most this many new connections (`http`: requests) a second; further ones go to the next \
             rule.",
        ),
        texts_key("host", TextFormat::HostPattern, "The requested host, without its port: `\"shop.example\"`, or `\"*.shop.example\"` for every name below.")
        .http_only(),
        texts_key("host-part", TextFormat::HostPart, "Whole labels anywhere in the host: `\"api\"` matches `api.shop.example` and `x.api.example`, \
         `\"shop.example\"` also `www.shop.example.org`.")
        .http_only(),
        texts_key("host-regex", TextFormat::Pattern, "A regular expression that matches the whole host, in any letter case and without its port.")
            .http_only(),
        texts_key("path", TextFormat::PathPattern, "The path, without the query: `\"/about\"`, `\"/api/*\"` as a prefix, or with `*` (not over a `/`), `**` \
         and `?` in it. See the service's `path-normalization`.")
        .http_only(),
        texts_key("path-regex", TextFormat::Pattern, "A regular expression that matches the whole path.").http_only(),
        texts_key("method", TextFormat::Method, "The method.").http_only(),
        texts_key("header", TextFormat::Match, "A header: `\"name\"` if it is there, `\"name: value\"` if it has the value. `*` stands for anything, `?` \
         for one character except `/`, and `\\*`, `\\?`, `\\\\` for themselves.")
        .http_only(),
        texts_key("header-list", TextFormat::Match, "An element of a header that is a comma-separated list, over all its lines: `\"name: value\"` as in \
         `header`. Commas within quotes do not separate.")
        .http_only(),
        texts_key("header-regex", TextFormat::FieldPattern, "A header, `\"name: expression\"`: a regular expression that matches the whole value of one of its lines.")
            .http_only(),
        texts_key("cookie", TextFormat::Cookie, "A cookie: `\"name\"` or `\"name=value\"`, likewise.").http_only(),
        texts_key("query", TextFormat::Pair, "A query parameter: `\"name\"` or `\"name=value\"`, likewise; the value matches as it stands or decoded.")
            .http_only(),
        KeySchema::new(
            "value-case",
            ValueKind::Keyword(&[Keyword::new("exact"), Keyword::new("ignore")]),
            DefaultValue::Derived("`exact`"),
            "Whether letter case counts in the values of this condition's `header`, `header-list`, `cookie` and `query`.",
        )
        .http_only(),
        texts_key("sni", TextFormat::HostPattern, "The server name (SNI) that a TLS client requests. A `tcp` service without `tls` reads it from the \
         ClientHello and passes the bytes on (TLS passthrough).")
        .proxy_only(),
        range_key("active", "Requests or connections in flight: `\"100-\"` at least, `\"-99\"` at most, `\"10-20\"`. `scope` sets which \
         ones.")
            .proxy_only(),
        KeySchema::new(
            "scope",
            ValueKind::Keyword(&[Keyword::new("rule"), Keyword::new("pool"), Keyword::new("service")]),
            DefaultValue::Derived("`rule`"),
            "`active` counts those that this rule sent on, those in flight at the servers of its pool, or all of \
             the service, including those of other rules.",
        ).formerly(&["count"])
        .proxy_only(),
        range_key("connection-rate", "Connections that the service accepted in the last whole second.").formerly(&["arrivals"]).proxy_only(),
        KeySchema::new(
            "bandwidth",
            ValueKind::Rate { min: 8_000, max: 10_000_000_000_000, unset: None },
            DefaultValue::Absent,
            "Matches while the responses of this rule were below this rate in the last whole second: bandwidth \
             reserved for the rule.",
        )
        .proxy_only(),
        KeySchema::new(
            "shared-bandwidth",
            ValueKind::Rate { min: 8_000, max: 10_000_000_000_000, unset: None },
            DefaultValue::Absent,
            "Matches while all responses of the service together were below this rate in the last whole second: \
             bandwidth that rules share.",
        )
        .proxy_only(),
        KeySchema::new(
            "servers",
            ValueKind::Table { table: &SERVERS_TABLE, short: TableShorthand::Key("up"), unset: None },
            DefaultValue::Absent,
            "The state of a pool. Short form: how many servers are up.",
        )
        .proxy_only(),
        nested_key("all", "Conditions that must all match."),
        nested_key("any", "Conditions of which one must match."),
        KeySchema::new(
            "not",
            ValueKind::Table { table: &WHEN_TABLE, short: TableShorthand::None, unset: None },
            DefaultValue::Absent,
            "A condition that must not match.",
        )
        .proxy_only(),
    ],
};

const fn texts_key(name: &'static str, form: TextFormat, doc: &'static str) -> KeySchema {
    KeySchema::new(name, ValueKind::Texts { form, unset: None }, DefaultValue::Absent, doc)
}

const fn range_key(name: &'static str, doc: &'static str) -> KeySchema {
    KeySchema::new(
        name,
        ValueKind::Text { form: TextFormat::Range, unset: None },
        DefaultValue::Absent,
        doc,
    )
}

const fn nested_key(name: &'static str, doc: &'static str) -> KeySchema {
    let kind = ValueKind::List { table: &WHEN_TABLE, short: TableShorthand::None, most: 100_000 };
    KeySchema::new(name, kind, DefaultValue::Absent, doc).proxy_only()
}

static SERVERS_TABLE: TableSchema = TableSchema {
    description: "a state of a pool",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "of",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Derived("the rule's pool"),
            "Name of the pool.",
        ),
        range_key("up", "Servers that are up and take requests."),
        range_key("average-active", "Requests in flight at each server that is up, on average.")
            .formerly(&["busy"]),
        range_key("load", "Reported load of servers, percent, on average over those that report."),
        range_key("each-load", "The same for every server that reports."),
    ],
};
