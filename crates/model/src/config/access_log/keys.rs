//! Describes `access-log` of `[global]`.

use std::borrow::Cow;

use super::field::MAX_LOG_FIELDS;
use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

pub static ACCESS_LOG: TableSchema = TableSchema {
    description: "the access log",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "all",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Log every exchange; otherwise only errors: exchanges with a cause, and servers' responses with 5xx.",
        ),
        KeySchema::new(
            "sample",
            ValueKind::Share(1, 999_999, Some("off")),
            DefaultValue::unset("off"),
            "Log this share of the exchanges that neither failed nor were slow, such as `\"1%\"`, with `weight` in \
             the line, and every slow one. `off`: without `all` only errors.",
        ),
        KeySchema::new(
            "format",
            ValueKind::Keyword(&[
                Keyword::new("json"),
                Keyword::new("logfmt"),
                Keyword::new("common"),
                Keyword::new("combined"),
                Keyword::new("cef"),
            ]),
            DefaultValue::keyword("json"),
            "One JSON object a line, `name=value` (logfmt), the common log format with times appended, the combined log format of \
             Apache httpd and nginx, or the Common Event Format (`cef`) of SIEM systems.",
        ),
        KeySchema::new(
            "fields",
            ValueKind::Lines { form: TextFormat::LogField, most: MAX_LOG_FIELDS },
            DefaultValue::Absent,
            "Fields of a line of `json` or `logfmt`, in this order: variables such as `status`, `header.NAME` and \
             `cookie.NAME`, and `default` for all fields of a line without this key. docs/access-log.md lists the \
             variables.",
        ),
        KeySchema::new(
            "target",
            ValueKind::Text { form: TextFormat::Target, unset: None },
            DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed("stderr"))),
            "`stderr`, `stdout`, `off`, or a file's path; a file is reopened on SIGUSR1. `syslog://ADDRESS:PORT` is a syslog server over \
             UDP, `syslog+tcp://ADDRESS:PORT` one over TCP, `syslog+tls://ADDRESS:PORT` one over TLS.",
        ),
        KeySchema::new(
            "tls",
            ValueKind::Table { table: &TLS, short: TableShorthand::None, unset: None },
            DefaultValue::Inner,
            "TLS to the syslog server of `target`.",
        ),
    ],
};

static TLS: TableSchema = TableSchema {
    description: "TLS to the syslog server",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Host, unset: Some("auto") },
            DefaultValue::unset("auto"),
            "The name to request (SNI) and to verify; `auto`: the server's address.",
        ),
        KeySchema::new(
            "ca",
            ValueKind::Text { form: TextFormat::File, unset: Some("system") },
            DefaultValue::unset("system"),
            "PEM file of the CAs of its certificate; `system`: the system's CAs.",
        ),
    ],
};
