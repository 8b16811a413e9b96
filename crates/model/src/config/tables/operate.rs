//! Describes the keys for operating by hand and by the clock.

use std::borrow::Cow;

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};
use super::super::value::Value;

/// Where changes made while running are kept.
pub const WRITE_BACK: Key = Key::new(
    "write-back",
    Kind::Words(&[Word::of("off"), Word::of("file"), Word::of("overlay")]),
    Fallback::word("off"),
    "Where changes made while running are kept, unless they say otherwise: in the `file`, with its comments; in an \
     `overlay` beside it, where a tool writes the file; `off`: until the file is read again. Words about servers are \
     remembered in any case.",
);

/// Whether changes over the API may reach beyond the product.
pub const ALLOW_PROGRAMS: Key = Key::new(
    "allow-programs",
    Kind::Flag,
    Fallback::Is(Value::Flag(false)),
    "Changes over the API may set programs that are run (`hook`, `probe.program`), files of secrets that are sent \
     (`probe.secret-file`, `heartbeat.witness.token`), the access log's file, and of `global.control` `socket`, `mode`, \
     `state`, `audit`, `tokens` and `client-authorities`. Otherwise what the file says of them stands. This key itself is \
     set in the file alone.",
);

/// How long the record of orders may grow.
pub const AUDIT: Key = Key::new(
    "audit",
    Kind::size(64 * 1024, 1024 * 1024 * 1024),
    Fallback::Is(Value::Size(8 * 1024 * 1024)),
    "The record of who ordered what: so large it may be; then its older half goes.",
);

/// Where the API and its page are served over TCP.
pub const LISTEN: Key = Key::new(
    "listen",
    Kind::Socket,
    Fallback::Absent,
    "Address and port of the API and its page over TCP. Whoever has no token may look, on a loopback address; elsewhere a token and TLS are needed.",
);

/// Who may use it.
pub const TOKENS: Key = Key::new(
    "tokens",
    Kind::Text { form: Form::File, unset: None },
    Fallback::Absent,
    "The file of tokens, a line each from `steelyard token`; only root or the daemon's user may be able to write it.",
);

/// By which certificate it is known.
pub const CERTIFICATE: Key = Key::new(
    "certificate",
    Kind::Text { form: Form::File, unset: None },
    Fallback::Absent,
    "PEM file with the certificate for `listen`, and its key there or beside it as for a service. It is watched.",
);

/// Who may have signed clients' certificates.
pub const CLIENT_AUTHORITIES: Key = Key::new(
    "client-authorities",
    Kind::Text { form: Form::File, unset: None },
    Fallback::Absent,
    "PEM file with who may have signed certificates of the API's clients; what each may do is a line of `tokens`, from \
     `steelyard token --certificate`. It is watched.",
);

/// Names by which it may be asked for.
pub const HOSTS: Key = Key::new(
    "hosts",
    Kind::Texts { form: Form::Domain, unset: None },
    Fallback::Absent,
    "Names under which browsers may ask for `listen`; addresses, and `localhost`, always may.",
);

/// What our cookies are made with.
pub const STICKY_SECRET_FILE: Key = Key::new(
    "sticky-secret-file",
    Kind::Text { form: Form::File, unset: None },
    Fallback::Derived("a secret of this machine's own, kept in the state directory"),
    "The file of the secret that cookies of `sticky` are made with, the same on all members of a pair or fleet: one line, 32 \
     to 512 visible characters; a second line is the secret before, which is still accepted. Only root or the daemon's user may \
     read it. It is watched.",
);

/// When a certificate's end is near.
pub const CERTIFICATE_WARNING: Key = Key::new(
    "certificate-warning",
    Kind::time(0, 3_660 * 86_400_000),
    Fallback::millis(14 * 86_400_000),
    "A service's certificate that ends within so long is told of, once: `certificate-expires`.",
);

/// Programs that are told of events.
pub const HOOK: Key = Key::new(
    "hook",
    Kind::List { table: &HOOK_TABLE, short: Short::None, most: 64 },
    Fallback::Absent,
    "Programs that are told of events.",
);

/// How much history is kept.
pub const HISTORY: Key = Key::new(
    "history",
    Kind::Table { table: &HISTORY_TABLE, short: Short::Key("size"), unset: Some("off") },
    Fallback::Inner,
    "Rates and states kept on disk, for `report --since`. Short form: how large.",
);

/// What the clock wants of servers.
pub const SCHEDULE: Key = Key::new(
    "schedule",
    Kind::List { table: &SCHEDULE_TABLE, short: Short::None, most: 1_000 },
    Fallback::Absent,
    "What the clock wants of the server, local time. In a pool: for its servers that set none.",
);

/// Where servers are found.
pub const SERVERS_FROM: Key = Key::new(
    "servers-from",
    Kind::Table { table: &SERVERS_FROM_TABLE, short: Short::None, unset: None },
    Fallback::Absent,
    "Where servers are found, besides those in `servers`.",
);

/// The days of the week.
pub static DAYS: [Word; 7] = [
    Word::of("mon"),
    Word::of("tue"),
    Word::of("wed"),
    Word::of("thu"),
    Word::of("fri"),
    Word::of("sat"),
    Word::of("sun"),
];

/// Kinds of events that a hook may name.
pub static EVENTS: [Word; 84] = [
    Word::of("all"),
    Word::of("server-up"),
    Word::of("server-down"),
    Word::of("server-unknown"),
    Word::of("server-drain"),
    Word::of("server-disabled"),
    Word::of("server-set"),
    Word::of("pool-empty"),
    Word::of("pool-back"),
    Word::of("alarm-on"),
    Word::of("alarm-off"),
    Word::of("budget-burning"),
    Word::of("budget-calm"),
    Word::of("half-open-alarm"),
    Word::of("half-open-clear"),
    Word::of("certificate-expires"),
    Word::of("certificate-good"),
    Word::of("connections-evicted"),
    Word::of("breaker-open"),
    Word::of("breaker-closed"),
    Word::of("shedding-begun"),
    Word::of("shedding-ended"),
    Word::of("acme-failed"),
    Word::of("certificate-renewed"),
    Word::of("certificate-refused"),
    Word::of("sticky-secret"),
    Word::of("sticky-secret-renewed"),
    Word::of("sticky-secret-refused"),
    Word::of("agent-lost"),
    Word::of("agent-back"),
    Word::of("agent-clamped"),
    Word::of("server-cut"),
    Word::of("server-ejected"),
    Word::of("server-readmitted"),
    Word::of("source-changed"),
    Word::of("source-failed"),
    Word::of("source-clamped"),
    Word::of("source-ports-low"),
    Word::of("no-descriptor"),
    Word::of("member-active"),
    Word::of("member-standby"),
    Word::of("member-idle"),
    Word::of("member-unfit"),
    Word::of("member-fit"),
    Word::of("member-withheld"),
    Word::of("member-released"),
    Word::of("witness-lost"),
    Word::of("witness-back"),
    Word::of("member-doubled"),
    Word::of("member-sole"),
    Word::of("member-conflict"),
    Word::of("kernel-restored"),
    Word::of("pins-not-lasting"),
    Word::of("address-preferred"),
    Word::of("clock-set"),
    Word::of("state-set-aside"),
    Word::of("peer-heard"),
    Word::of("peer-lost"),
    Word::of("path-up"),
    Word::of("path-down"),
    Word::of("heartbeat-refused"),
    Word::of("heartbeat-trouble"),
    Word::of("config-drift"),
    Word::of("config-agrees"),
    Word::of("connections-rehashed"),
    Word::of("reach-lost"),
    Word::of("reach-back"),
    Word::of("reach-behind"),
    Word::of("reach-level"),
    Word::of("member-refused"),
    Word::of("names-not-listening"),
    Word::of("applied"),
    Word::of("undone"),
    Word::of("reload-failed"),
    Word::of("audit-not-kept"),
    Word::of("words-not-kept"),
    Word::of("generations-not-kept"),
    Word::of("history-not-kept"),
    Word::of("history-not-read"),
    Word::of("capture-made"),
    Word::of("capture-not-made"),
    Word::of("capture-refused"),
    Word::of("telemetry-failed"),
    Word::of("telemetry-back"),
];

static HOOK_TABLE: Table = Table {
    what: "a hook",
    choices: &[],
    keys: &[
        Key::new(
            "name",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Required,
            "Its name, for messages.",
        ),
        Key::new(
            "run",
            Kind::Text { form: Form::File, unset: None },
            Fallback::Required,
            "The program, by its whole path. No shell reads it; the event is in its environment.",
        ),
        Key::new(
            "on",
            Kind::WordList(&EVENTS),
            Fallback::Required,
            "Kinds of events; `all`: every kind but those about hooks.",
        ),
        Key::new(
            "timeout",
            Kind::time(10, 600_000),
            Fallback::millis(10_000),
            "It is killed, with all that it started, after so long.",
        ),
        Key::new("at-once", Kind::count(1, 64), Fallback::count(4), "So many may run at a time."),
        Key::new("queue", Kind::count(0, 1_024), Fallback::count(64), "So many events may wait."),
    ],
};

static HISTORY_TABLE: Table = Table {
    what: "the history",
    choices: &[],
    keys: &[
        Key::new(
            "size",
            Kind::size(64 * 1024, 64 << 30),
            Fallback::Is(Value::Size(64 << 20)),
            "Bytes on disk; then the oldest goes.",
        ),
        Key::new(
            "keep",
            Kind::time(3_600_000, 3_660 * 86_400_000),
            Fallback::millis(30 * 86_400_000),
            "How long.",
        ),
        Key::new(
            "step",
            Kind::time(1_000, 3_600_000),
            Fallback::millis(60_000),
            "Between two records; what is older than two days is kept in steps of fifteen.",
        ),
    ],
};

static SCHEDULE_TABLE: Table = Table {
    what: "a schedule",
    choices: &[&["drain", "sticky"], &["disable"]],
    keys: &[
        Key::new(
            "drain",
            Kind::Hours,
            Fallback::Absent,
            "It finishes what it has during these hours: `\"22:00-06:00\"`, or by whole hours, the last included: \
             `\"22-5\"`.",
        ),
        Key::new("disable", Kind::Hours, Fallback::Absent, "It takes nothing during these hours."),
        Key::new(
            "days",
            Kind::WordList(&DAYS),
            Fallback::Absent,
            "On which days the hours begin; none: on all.",
        ),
        Key::new(
            "sticky",
            Kind::time(1_000, 30 * 86_400_000),
            Fallback::Absent,
            "`drain`: how long after its beginning clients that are kept at the server still come, also where `sticky.drain` \
             of their service says less; none: as that says.",
        ),
    ],
};

static SERVERS_FROM_TABLE: Table = Table {
    what: "a source of servers",
    choices: &[&["dns", "type", "port", "resolver"], &["file"]],
    keys: &[
        Key::new(
            "dns",
            Kind::Text { form: Form::Host, unset: None },
            Fallback::Absent,
            "A name: each of its records is a server. It is asked for again when its time to live ends.",
        ),
        Key::new(
            "type",
            Kind::Words(&[Word::of("a"), Word::of("aaaa"), Word::of("srv")]),
            Fallback::Derived("`a`"),
            "`dns`: which records.",
        ),
        Key::new(
            "port",
            Kind::count(1, 65_535),
            Fallback::Absent,
            "`dns`: the servers' port; SRV records bring their own.",
        ),
        Key::new(
            "resolver",
            Kind::Socket,
            Fallback::Absent,
            "`dns`: whom to ask; none: those of /etc/resolv.conf.",
        ),
        Key::new(
            "file",
            Kind::Text { form: Form::File, unset: None },
            Fallback::Absent,
            "A file with `ADDRESS:PORT [weight=N] [name=NAME]` a line, read again when it changes.",
        ),
        Key::new(
            "min",
            Kind::count(1, 10_000),
            Fallback::count(1),
            "An answer with fewer servers is not believed: the last good one stands.",
        ),
        Key::new(
            "max",
            Kind::count(1, 10_000),
            Fallback::count(256),
            "Servers taken from one answer; further ones are left out, with a warning.",
        ),
    ],
};

/// `global.telemetry`.
pub(super) const TELEMETRY: Key = Key::new(
    "telemetry",
    Kind::Table { table: &COLLECTOR, short: Short::Key("collector"), unset: Some("off") },
    Fallback::unset("off"),
    "A collector of OpenTelemetry that is sent spans and events, as OTLP over HTTP in JSON. Short form: where it is.",
);

static COLLECTOR: Table = Table {
    what: "the telemetry table",
    choices: &[],
    keys: &[
        Key::new(
            "collector",
            Kind::Socket,
            Fallback::Required,
            "Its address and port; `/v1/traces` and `/v1/logs` are asked there.",
        ),
        Key::new(
            "traces",
            Kind::Flag,
            Fallback::Is(Value::Flag(true)),
            "Spans of exchanges that are measured, and W3C trace context towards servers.",
        ),
        Key::new("logs", Kind::Flag, Fallback::Is(Value::Flag(true)), "Events, as log records."),
        Key::new(
            "name",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Is(Value::Text(Cow::Borrowed("steelyard"))),
            "What this process is called there (`service.name`).",
        ),
    ],
};
