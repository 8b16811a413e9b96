//! Describes `[global]`: settings of the process, and defaults for services and pools.

use std::borrow::Cow;

use crate::config::control::{DEFAULT_SOCKET, DEFAULT_STATE_DIR};
use crate::config::schema::{
    DefaultValue, KeySchema, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;
use crate::config::{
    access_log, balance, body_limit, client_from, control, event_hook, event_level, history, pool,
    request_id, service, socket, telemetry,
};

/// The secret of affinity cookies.
pub const STICKY_SECRET_FILE: KeySchema = KeySchema::new(
    "sticky-secret-file",
    ValueKind::Text { form: TextFormat::File, unset: None },
    DefaultValue::Derived("a secret of this machine's own, kept in the state directory"),
    "File with the secret for cookies of `sticky`, the same on all members of a pair or fleet: one line, 32 to 512 \
     visible characters; a second line is the previous secret, which is still accepted. Only root or the daemon's user \
     may read it. Changes are watched.",
);

/// When to warn of a certificate that will expire.
pub const CERTIFICATE_WARNING: KeySchema = KeySchema::new(
    "certificate-warning",
    ValueKind::time(0, 3_660 * 86_400_000),
    DefaultValue::millis(14 * 86_400_000),
    "Sends the event `certificate-expires` once when a service's certificate expires within this time.",
);

pub static GLOBAL: TableSchema = TableSchema {
    description: "the global table",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "workers",
            ValueKind::count_or_keyword(1, 1_024, "auto"),
            DefaultValue::unset("auto"),
            "Worker threads; `auto`: one for each core that the process may use.",
        ),
        // The descriptor limit decides as a rule.
        KeySchema::new(
            "connections",
            ValueKind::count_or_keyword(1, 100_000_000, "auto"),
            DefaultValue::unset("auto"),
            "Client connections over all services; `auto`: half of the file descriptors that are left after 128 for \
             the daemon, because each client may need a second one towards a server; at least 16, at most 1,000,000.",
        ),
        // 30 s let ordinary requests end, as Kubernetes' terminationGracePeriodSeconds.
        KeySchema::new(
            "drain",
            ValueKind::time(0, 86_400_000),
            DefaultValue::millis(30_000),
            "Graceful shutdown: how long exchanges may finish after a stop.",
        ),
        KeySchema::new(
            "access-log",
            ValueKind::Table {
                table: &access_log::ACCESS_LOG,
                short: TableShorthand::Key("target"),
                unset: None,
            },
            DefaultValue::Inner,
            "The access log. Short form: its target.",
        ),
        KeySchema::new(
            "control",
            ValueKind::Table {
                table: &CONTROL,
                short: TableShorthand::None,
                unset: Some(control::NO_SOCKET),
            },
            DefaultValue::Inner,
            "The control API and the state on disk. `off`: no socket, only signals control the daemon.",
        ),
        KeySchema::new(
            "metrics",
            ValueKind::Table {
                table: &METRICS,
                short: TableShorthand::Key("listen"),
                unset: Some("off"),
            },
            DefaultValue::unset("off"),
            "The Prometheus metrics endpoint. Short form: its address.",
        ),
        telemetry::TELEMETRY,
        KeySchema::new(
            "timeout",
            ValueKind::table(&TIMEOUT),
            DefaultValue::Inner,
            "Default timeouts of services and pools.",
        ),
        KeySchema::new(
            "limit",
            ValueKind::table(&LIMIT),
            DefaultValue::Inner,
            "Default limits of services and pools.",
        ),
        KeySchema::new(
            "socket",
            ValueKind::table(&socket::ALL),
            DefaultValue::Inner,
            "Default socket settings of services and pools.",
        ),
        service::TRUST,
        client_from::CLIENT_FROM,
        request_id::REQUEST_ID,
        KeySchema::new(
            "sample",
            ValueKind::count_or_keyword(1, 1_000_000, "off"),
            DefaultValue::count(64),
            "For `explain slow` and traces: one exchange in this many is measured, and every slow or failed one; \
             `off`: none.",
        ),
        STICKY_SECRET_FILE,
        CERTIFICATE_WARNING,
        event_level::EVENT_LEVEL,
        event_hook::HOOK,
        history::HISTORY,
        balance::POOL_LOCALITY,
    ],
};

pub static CONTROL: TableSchema = TableSchema {
    description: "the control table",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "socket",
            ValueKind::Text { form: TextFormat::File, unset: Some(control::NO_SOCKET) },
            DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed(DEFAULT_SOCKET))),
            "Unix socket of the control API; `off`: none. The default of users other than root is \
             `$XDG_RUNTIME_DIR/steelyard/control.sock`. If the default path is not writable, as with a read-only root, \
             the daemon runs without a socket and reports a warning; a path that is written here must be writable.",
        ),
        KeySchema::new(
            "mode",
            ValueKind::Mode,
            DefaultValue::Literal(ConfigValue::Mode(0o660)),
            "Permissions of that socket.",
        ),
        KeySchema::new(
            "state",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed(DEFAULT_STATE_DIR))),
            "Directory of generations and state. The default of users other than root is `$XDG_STATE_HOME/steelyard`.",
        ),
        KeySchema::new(
            "generations",
            ValueKind::count(1, 1_000),
            DefaultValue::count(20),
            "Generations stored for rollback.",
        ),
        control::WRITE_BACK,
        control::ALLOW_PROGRAMS,
        control::AUDIT,
        control::LISTEN,
        control::TOKENS,
        control::CERTIFICATE,
        control::CLIENT_AUTHORITIES,
        control::HOSTS,
    ],
};

static METRICS: TableSchema = TableSchema {
    description: "the metrics table",
    exclusive_groups: &[],
    keys: &[KeySchema::new(
        "listen",
        ValueKind::Socket,
        DefaultValue::Required,
        "Address and port of the endpoint.",
    )],
};

static TIMEOUT: TableSchema = TableSchema {
    description: "default times",
    exclusive_groups: &[],
    keys: &[
        service::HEADER,
        service::IDLE_BOTH,
        service::BETWEEN_BYTES_BOTH,
        service::WHOLE,
        service::TUNNEL,
        pool::CONNECT,
        pool::FIRST_BYTE,
        pool::QUEUE_TIME,
        KeySchema::refused("drain", "it is a key of `[global]` itself: `drain`"),
    ],
};

static LIMIT: TableSchema = TableSchema {
    description: "default limits",
    exclusive_groups: &[],
    keys: &[
        service::HEADER_BYTES,
        service::HEADER_COUNT,
        service::TARGET_BYTES,
        body_limit::OF_SERVICE,
        service::CONNECTION_BYTES,
        pool::IDLE_CONNECTIONS,
        pool::QUEUE_LENGTH,
        KeySchema::refused("connections", "it is a key of `[global]` itself: `connections`"),
    ],
};
