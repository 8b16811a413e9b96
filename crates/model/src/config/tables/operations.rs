//! Describes the keys for operating by hand and by the clock.

use std::borrow::Cow;

use super::super::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use super::super::value::ConfigValue;

/// Where changes made while running are kept.
pub const WRITE_BACK: KeySchema = KeySchema::new(
    "write-back",
    ValueKind::Keyword(&[Keyword::new("off"), Keyword::new("file"), Keyword::new("overlay")]),
    DefaultValue::keyword("off"),
    "Where changes made while running are kept, unless they say otherwise: in the `file`, with its comments; in an \
     `overlay` beside it, where a tool writes the file; `off`: until the file is read again. Words about servers are \
     remembered in any case.",
);

/// Whether changes over the API may reach beyond the product.
pub const ALLOW_PROGRAMS: KeySchema = KeySchema::new(
    "allow-programs",
    ValueKind::Flag,
    DefaultValue::Literal(ConfigValue::Flag(false)),
    "Changes over the API may set programs that are run (`hook`, `probe.program`), files of secrets that are sent \
     (`probe.secret-file`, `heartbeat.witness.token`), the access log's file, and of `global.control` `socket`, `mode`, \
     `state`, `audit`, `tokens` and `client-authorities`. Otherwise what the file says of them stands. This key itself is \
     set in the file alone.",
);

/// How long the record of orders may grow.
pub const AUDIT: KeySchema = KeySchema::new(
    "audit",
    ValueKind::size(64 * 1024, 1024 * 1024 * 1024),
    DefaultValue::Literal(ConfigValue::Size(8 * 1024 * 1024)),
    "The record of who ordered what: so large it may be; then its older half goes.",
);

/// Where the API and its page are served over TCP.
pub const LISTEN: KeySchema = KeySchema::new(
    "listen",
    ValueKind::Socket,
    DefaultValue::Absent,
    "Address and port of the API and its page over TCP. Whoever has no token may look, on a loopback address; elsewhere a token and TLS are needed.",
);

/// Who may use it.
pub const TOKENS: KeySchema = KeySchema::new(
    "tokens",
    ValueKind::Text { form: TextFormat::File, unset: None },
    DefaultValue::Absent,
    "The file of tokens, a line each from `steelyard token`; only root or the daemon's user may be able to write it.",
);

/// By which certificate it is known.
pub const CERTIFICATE: KeySchema = KeySchema::new(
    "certificate",
    ValueKind::Text { form: TextFormat::File, unset: None },
    DefaultValue::Absent,
    "PEM file with the certificate for `listen`, and its key there or beside it as for a service. It is watched.",
);

/// Who may have signed clients' certificates.
pub const CLIENT_AUTHORITIES: KeySchema = KeySchema::new(
    "client-authorities",
    ValueKind::Text { form: TextFormat::File, unset: None },
    DefaultValue::Absent,
    "PEM file with who may have signed certificates of the API's clients; what each may do is a line of `tokens`, from \
     `steelyard token --certificate`. It is watched.",
);

/// Names by which it may be asked for.
pub const HOSTS: KeySchema = KeySchema::new(
    "hosts",
    ValueKind::Texts { form: TextFormat::Domain, unset: None },
    DefaultValue::Absent,
    "Names under which browsers may ask for `listen`; addresses, and `localhost`, always may.",
);

/// What our cookies are made with.
pub const STICKY_SECRET_FILE: KeySchema = KeySchema::new(
    "sticky-secret-file",
    ValueKind::Text { form: TextFormat::File, unset: None },
    DefaultValue::Derived("a secret of this machine's own, kept in the state directory"),
    "The file of the secret that cookies of `sticky` are made with, the same on all members of a pair or fleet: one line, 32 \
     to 512 visible characters; a second line is the secret before, which is still accepted. Only root or the daemon's user may \
     read it. It is watched.",
);

/// When a certificate's end is near.
pub const CERTIFICATE_WARNING: KeySchema = KeySchema::new(
    "certificate-warning",
    ValueKind::time(0, 3_660 * 86_400_000),
    DefaultValue::millis(14 * 86_400_000),
    "A service's certificate that ends within so long is told of, once: `certificate-expires`.",
);

/// Programs that are told of events.
pub const HOOK: KeySchema = KeySchema::new(
    "hook",
    ValueKind::List { table: &HOOK_TABLE, short: TableShorthand::None, most: 64 },
    DefaultValue::Absent,
    "Programs that are told of events.",
);

/// How much history is kept.
pub const HISTORY: KeySchema = KeySchema::new(
    "history",
    ValueKind::Table {
        table: &HISTORY_TABLE,
        short: TableShorthand::Key("size"),
        unset: Some("off"),
    },
    DefaultValue::Inner,
    "Rates and states kept on disk, for `report --since`. Short form: how large.",
);

/// What the clock wants of servers.
pub const SCHEDULE: KeySchema = KeySchema::new(
    "schedule",
    ValueKind::List { table: &SCHEDULE_TABLE, short: TableShorthand::None, most: 1_000 },
    DefaultValue::Absent,
    "What the clock wants of the server, local time. In a pool: for its servers that set none.",
);

/// Where servers are found.
pub const SERVERS_FROM: KeySchema = KeySchema::new(
    "servers-from",
    ValueKind::Table { table: &SERVERS_FROM_TABLE, short: TableShorthand::None, unset: None },
    DefaultValue::Absent,
    "Where servers are found, besides those in `servers`.",
);

/// The days of the week.
pub static DAYS: [Keyword; 7] = [
    Keyword::new("mon"),
    Keyword::new("tue"),
    Keyword::new("wed"),
    Keyword::new("thu"),
    Keyword::new("fri"),
    Keyword::new("sat"),
    Keyword::new("sun"),
];

/// Kinds of events that a hook may name.
pub static EVENTS: [Keyword; 84] = [
    Keyword::new("all"),
    Keyword::new("server-up"),
    Keyword::new("server-down"),
    Keyword::new("server-unknown"),
    Keyword::new("server-drain"),
    Keyword::new("server-disabled"),
    Keyword::new("server-set"),
    Keyword::new("pool-empty"),
    Keyword::new("pool-back"),
    Keyword::new("alarm-on"),
    Keyword::new("alarm-off"),
    Keyword::new("budget-burning"),
    Keyword::new("budget-calm"),
    Keyword::new("half-open-alarm"),
    Keyword::new("half-open-clear"),
    Keyword::new("certificate-expires"),
    Keyword::new("certificate-good"),
    Keyword::new("connections-evicted"),
    Keyword::new("breaker-open"),
    Keyword::new("breaker-closed"),
    Keyword::new("shedding-begun"),
    Keyword::new("shedding-ended"),
    Keyword::new("acme-failed"),
    Keyword::new("certificate-renewed"),
    Keyword::new("certificate-refused"),
    Keyword::new("sticky-secret"),
    Keyword::new("sticky-secret-renewed"),
    Keyword::new("sticky-secret-refused"),
    Keyword::new("agent-lost"),
    Keyword::new("agent-back"),
    Keyword::new("agent-clamped"),
    Keyword::new("server-cut"),
    Keyword::new("server-ejected"),
    Keyword::new("server-readmitted"),
    Keyword::new("source-changed"),
    Keyword::new("source-failed"),
    Keyword::new("source-clamped"),
    Keyword::new("source-ports-low"),
    Keyword::new("no-descriptor"),
    Keyword::new("member-active"),
    Keyword::new("member-standby"),
    Keyword::new("member-idle"),
    Keyword::new("member-unfit"),
    Keyword::new("member-fit"),
    Keyword::new("member-withheld"),
    Keyword::new("member-released"),
    Keyword::new("witness-lost"),
    Keyword::new("witness-back"),
    Keyword::new("member-doubled"),
    Keyword::new("member-sole"),
    Keyword::new("member-conflict"),
    Keyword::new("kernel-restored"),
    Keyword::new("pins-not-lasting"),
    Keyword::new("address-preferred"),
    Keyword::new("clock-set"),
    Keyword::new("state-set-aside"),
    Keyword::new("peer-heard"),
    Keyword::new("peer-lost"),
    Keyword::new("path-up"),
    Keyword::new("path-down"),
    Keyword::new("heartbeat-refused"),
    Keyword::new("heartbeat-trouble"),
    Keyword::new("config-drift"),
    Keyword::new("config-agrees"),
    Keyword::new("connections-rehashed"),
    Keyword::new("reach-lost"),
    Keyword::new("reach-back"),
    Keyword::new("reach-behind"),
    Keyword::new("reach-level"),
    Keyword::new("member-refused"),
    Keyword::new("names-not-listening"),
    Keyword::new("applied"),
    Keyword::new("undone"),
    Keyword::new("reload-failed"),
    Keyword::new("audit-not-kept"),
    Keyword::new("words-not-kept"),
    Keyword::new("generations-not-kept"),
    Keyword::new("history-not-kept"),
    Keyword::new("history-not-read"),
    Keyword::new("capture-made"),
    Keyword::new("capture-not-made"),
    Keyword::new("capture-refused"),
    Keyword::new("telemetry-failed"),
    Keyword::new("telemetry-back"),
];

static HOOK_TABLE: TableSchema = TableSchema {
    description: "a hook",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Required,
            "Its name, for messages.",
        ),
        KeySchema::new(
            "run",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Required,
            "The program, by its whole path. No shell reads it; the event is in its environment.",
        ),
        KeySchema::new(
            "on",
            ValueKind::KeywordList(&EVENTS),
            DefaultValue::Required,
            "Kinds of events; `all`: every kind but those about hooks.",
        ),
        KeySchema::new(
            "timeout",
            ValueKind::time(10, 600_000),
            DefaultValue::millis(10_000),
            "It is killed, with all that it started, after so long.",
        ),
        KeySchema::new(
            "at-once",
            ValueKind::count(1, 64),
            DefaultValue::count(4),
            "So many may run at a time.",
        ),
        KeySchema::new(
            "queue",
            ValueKind::count(0, 1_024),
            DefaultValue::count(64),
            "So many events may wait.",
        ),
    ],
};

static HISTORY_TABLE: TableSchema = TableSchema {
    description: "the history",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "size",
            ValueKind::size(64 * 1024, 64 << 30),
            DefaultValue::Literal(ConfigValue::Size(64 << 20)),
            "Bytes on disk; then the oldest goes.",
        ),
        KeySchema::new(
            "keep",
            ValueKind::time(3_600_000, 3_660 * 86_400_000),
            DefaultValue::millis(30 * 86_400_000),
            "How long.",
        ),
        KeySchema::new(
            "step",
            ValueKind::time(1_000, 3_600_000),
            DefaultValue::millis(60_000),
            "Between two records; what is older than two days is kept in steps of fifteen.",
        ),
    ],
};

static SCHEDULE_TABLE: TableSchema = TableSchema {
    description: "a schedule",
    exclusive_groups: &[&["drain", "sticky"], &["disable"]],
    keys: &[
        KeySchema::new(
            "drain",
            ValueKind::DailyWindow,
            DefaultValue::Absent,
            "It finishes what it has during these hours: `\"22:00-06:00\"`, or by whole hours, the last included: \
             `\"22-5\"`.",
        ),
        KeySchema::new(
            "disable",
            ValueKind::DailyWindow,
            DefaultValue::Absent,
            "It takes nothing during these hours.",
        ),
        KeySchema::new(
            "days",
            ValueKind::KeywordList(&DAYS),
            DefaultValue::Absent,
            "On which days the hours begin; none: on all.",
        ),
        KeySchema::new(
            "sticky",
            ValueKind::time(1_000, 30 * 86_400_000),
            DefaultValue::Absent,
            "`drain`: how long after its beginning clients that are kept at the server still come, also where `sticky.drain` \
             of their service says less; none: as that says.",
        ),
    ],
};

static SERVERS_FROM_TABLE: TableSchema = TableSchema {
    description: "a source of servers",
    exclusive_groups: &[&["dns", "type", "port", "resolver"], &["file"]],
    keys: &[
        KeySchema::new(
            "dns",
            ValueKind::Text { form: TextFormat::Host, unset: None },
            DefaultValue::Absent,
            "A name: each of its records is a server. It is asked for again when its time to live ends.",
        ),
        KeySchema::new(
            "type",
            ValueKind::Keyword(&[Keyword::new("a"), Keyword::new("aaaa"), Keyword::new("srv")]),
            DefaultValue::Derived("`a`"),
            "`dns`: which records.",
        ),
        KeySchema::new(
            "port",
            ValueKind::count(1, 65_535),
            DefaultValue::Absent,
            "`dns`: the servers' port; SRV records bring their own.",
        ),
        KeySchema::new(
            "resolver",
            ValueKind::Socket,
            DefaultValue::Absent,
            "`dns`: whom to ask; none: those of /etc/resolv.conf.",
        ),
        KeySchema::new(
            "file",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Absent,
            "A file with `ADDRESS:PORT [weight=N] [name=NAME]` a line, read again when it changes.",
        ),
        KeySchema::new(
            "min",
            ValueKind::count(1, 10_000),
            DefaultValue::count(1),
            "An answer with fewer servers is not believed: the last good one stands.",
        ),
        KeySchema::new(
            "max",
            ValueKind::count(1, 10_000),
            DefaultValue::count(256),
            "Servers taken from one answer; further ones are left out, with a warning.",
        ),
    ],
};

pub(super) const TELEMETRY: KeySchema = KeySchema::new(
    "telemetry",
    ValueKind::Table {
        table: &COLLECTOR,
        short: TableShorthand::Key("collector"),
        unset: Some("off"),
    },
    DefaultValue::unset("off"),
    "A collector of OpenTelemetry that is sent spans and events, as OTLP over HTTP in JSON. Short form: where it is.",
);

static COLLECTOR: TableSchema = TableSchema {
    description: "the telemetry table",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "collector",
            ValueKind::Socket,
            DefaultValue::Required,
            "Its address and port; `/v1/traces` and `/v1/logs` are asked there.",
        ),
        KeySchema::new(
            "traces",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "Spans of exchanges that are measured, and W3C trace context towards servers.",
        ),
        KeySchema::new(
            "logs",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "Events, as log records.",
        ),
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed("steelyard"))),
            "What this process is called there (`service.name`).",
        ),
    ],
};
