//! Describes a server of a pool.

use crate::config::probe::PROBE;
use crate::config::schema::{DefaultValue, KeySchema, Keyword, TableSchema, TextFormat, ValueKind};
use crate::config::{balance, schedule};

/// An element of `servers`.
pub static SERVER: TableSchema = TableSchema {
    description: "a server",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Derived("the address with `-` for every other character"),
            "Its name within the pool.",
        ),
        KeySchema::new(
            "address",
            ValueKind::Server,
            DefaultValue::Required,
            "Where it is: `\"10.0.0.11:8080\"`, `\"[2001:db8::11]:8080\"`, `\"name.example:8080\"`, or a Unix socket of this \
             machine: `\"unix:/run/app.sock\"`, `\"unix:@name\"` for an abstract one (`http` and `tcp` services).",
        ),
        KeySchema::new(
            "cookie-value",
            ValueKind::Text { form: TextFormat::CookieValue, unset: None },
            DefaultValue::Derived("its name"),
            "Its value in cookies of services with `sticky.cookie` `prefix` or `passive`.",
        ),
        WEIGHT.inherited(),
        balance::PRIORITY,
        balance::BACKUP,
        balance::LAST_RESORT,
        balance::LOCALITY,
        KeySchema::new(
            "state",
            ValueKind::Keyword(&[
                Keyword::new("enabled"),
                Keyword::new("drain"),
                Keyword::new("disabled"),
            ]),
            DefaultValue::keyword("enabled"),
            "Administrative state. `enabled`: the health check decides. `drain`: finish what it has. `disabled`: \
             take nothing.",
        ),
        schedule::SCHEDULE.inherited(),
        CONNECTIONS.inherited(),
        PROBE.inherited(),
    ],
};

/// The range of HAProxy's weights, so that converted files keep their numbers.
pub const WEIGHT: KeySchema = KeySchema::new(
    "weight",
    ValueKind::count(0, 256),
    DefaultValue::count(1),
    "A server's share of the work; 0: no new requests. In a pool: the default of its servers.",
);

/// More than the 65,535 ports of one source address allow; further source addresses add to them.
pub const CONNECTIONS: KeySchema = KeySchema::new(
    "connections",
    ValueKind::count_or_keyword(1, 1_000_000, "off"),
    DefaultValue::unset("off"),
    "Connection limit of one server. In a pool: the default of its servers.",
);
