//! Describes `[global]`: the process, and defaults for services and pools.

use std::borrow::Cow;

use super::super::operate::{SOCKET, STATE};
use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};
use super::super::value::Value;
use super::{balance, operate, pool, service, socket};

/// `[global]`.
pub static GLOBAL: Table = Table {
    what: "the global table",
    choices: &[],
    keys: &[
        Key::new(
            "workers",
            Kind::count_or(1, 1_024, "auto"),
            Fallback::unset("auto"),
            "Worker threads; `auto`: one for each core that the process may use.",
        ),
        Key::new(
            "connections",
            Kind::count_or(1, 100_000_000, "auto"),
            Fallback::unset("auto"),
            "Client connections over all services; `auto`: half of what the file descriptor limit leaves after 128 of our own, for each \
             client may need a second one towards a server; 16 at least, 1,000,000 at most.",
        ),
        Key::new(
            "drain",
            Kind::time(0, 86_400_000),
            Fallback::millis(30_000),
            "How long a stop lets exchanges finish.",
        ),
        Key::new(
            "access-log",
            Kind::Table { table: &ACCESS_LOG, short: Short::Key("target"), unset: None },
            Fallback::Inner,
            "The access log. Short form: its target.",
        ),
        Key::new(
            "control",
            Kind::table(&CONTROL),
            Fallback::Inner,
            "The local API and what is kept on disk.",
        ),
        Key::new(
            "metrics",
            Kind::Table { table: &METRICS, short: Short::Key("listen"), unset: Some("off") },
            Fallback::unset("off"),
            "The Prometheus endpoint. Short form: where it listens.",
        ),
        operate::TELEMETRY,
        Key::new(
            "timeout",
            Kind::table(&TIMEOUT),
            Fallback::Inner,
            "Default times of services and pools.",
        ),
        Key::new(
            "limit",
            Kind::table(&LIMIT),
            Fallback::Inner,
            "Default limits of services and pools.",
        ),
        Key::new(
            "socket",
            Kind::table(&socket::ALL),
            Fallback::Inner,
            "Default socket settings of services and pools.",
        ),
        service::TRUST,
        Key::new(
            "sample",
            Kind::count_or(1, 1_000_000, "off"),
            Fallback::count(64),
            "For `explain slow` one exchange in so many is measured whatever it takes, and every slow one; `off`: none.",
        ),
        operate::STICKY_SECRET_FILE,
        operate::CERTIFICATE_WARNING,
        operate::HOOK,
        operate::HISTORY,
        balance::HERE,
    ],
};

static ACCESS_LOG: Table = Table {
    what: "the access log",
    choices: &[],
    keys: &[
        Key::new(
            "all",
            Kind::Flag,
            Fallback::Is(Value::Flag(false)),
            "Log every exchange; otherwise only the failed ones.",
        ),
        Key::new(
            "format",
            Kind::Words(&[Word::of("json"), Word::of("common")]),
            Fallback::word("json"),
            "One JSON object a line, or the common log format with times appended.",
        ),
        Key::new(
            "target",
            Kind::Text { form: Form::Target, unset: None },
            Fallback::Is(Value::Text(Cow::Borrowed("stderr"))),
            "`stderr`, `stdout`, `off`, or a file's path; a file is reopened on SIGUSR1.",
        ),
    ],
};

static CONTROL: Table = Table {
    what: "the control table",
    choices: &[],
    keys: &[
        Key::new(
            "socket",
            Kind::Text { form: Form::File, unset: None },
            Fallback::Is(Value::Text(Cow::Borrowed(SOCKET))),
            "Unix socket of the local API. Where there can be none at the usual path, as with a read-only root, the daemon runs \
             without, with a warning; a path that is written here must be writable.",
        ),
        Key::new(
            "mode",
            Kind::Mode,
            Fallback::Is(Value::Mode(0o660)),
            "Permissions of that socket.",
        ),
        Key::new(
            "state",
            Kind::Text { form: Form::File, unset: None },
            Fallback::Is(Value::Text(Cow::Borrowed(STATE))),
            "Directory of generations and kept states.",
        ),
        Key::new(
            "generations",
            Kind::count(1, 1_000),
            Fallback::count(20),
            "Generations kept for rollback.",
        ),
        operate::WRITE_BACK,
        operate::ALLOW_PROGRAMS,
        operate::AUDIT,
        operate::LISTEN,
        operate::TOKENS,
        operate::CERTIFICATE,
        operate::CLIENT_AUTHORITIES,
        operate::HOSTS,
    ],
};

static METRICS: Table = Table {
    what: "the metrics table",
    choices: &[],
    keys: &[Key::new(
        "listen",
        Kind::Socket,
        Fallback::Required,
        "Address and port of the endpoint.",
    )],
};

static TIMEOUT: Table = Table {
    what: "default times",
    choices: &[],
    keys: &[
        service::HEADER,
        service::IDLE_BOTH,
        service::BETWEEN_BYTES_BOTH,
        service::WHOLE,
        service::TUNNEL,
        pool::CONNECT,
        pool::FIRST_BYTE,
        pool::QUEUE_TIME,
        Key::refused("drain", "it is a key of `[global]` itself: `drain`"),
    ],
};

static LIMIT: Table = Table {
    what: "default limits",
    choices: &[],
    keys: &[
        service::HEADER_BYTES,
        service::HEADER_COUNT,
        service::TARGET_BYTES,
        service::CONNECTION_BYTES,
        pool::IDLE_CONNECTIONS,
        pool::QUEUE_LENGTH,
        Key::refused("connections", "it is a key of `[global]` itself: `connections`"),
    ],
};
