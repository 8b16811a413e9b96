//! Describes `socket`: what is set on the sockets of a service or of a pool.

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table};
use super::super::value::Value;

/// One day, in milliseconds.
const DAY: u64 = 86_400_000;
/// Far above any window, and below what the kernel holds in an int after doubling it.
const BUFFER_MAX: u64 = 512 * 1_024 * 1_024;

/// The keys of every `socket` table, and then its own.
macro_rules! with_common {
    ($($own:expr),*) => {
        &[NODELAY, KEEP_ALIVE, USER_TIMEOUT, MSS, CONGESTION, FAST_OPEN, MPTCP, TRANSPARENT, INTERFACE, MARK,
          SEND_BUFFER, RECEIVE_BUFFER, PATH, $($own),*]
    };
}

/// In `[global]`, for services and pools, and in a service.
pub static ALL: Table =
    Table { what: "socket settings", choices: &[], keys: with_common!(DEFER_ACCEPT, BACKLOG) };

/// In a pool.
pub static POOL: Table = Table {
    what: "socket settings of a pool",
    choices: &[],
    keys: with_common!(
        Key::refused("defer-accept", NOT_A_POOL),
        Key::refused("backlog", NOT_A_POOL)
    ),
};

const NOT_A_POOL: &str = "a pool accepts nothing; it belongs to `socket` of a service";

static KEEP_ALIVE_TABLE: Table = Table {
    what: "keep-alive settings",
    choices: &[],
    keys: &[
        Key::new(
            "idle",
            Kind::seconds(1, 32_767, None),
            Fallback::millis(60_000),
            "Silence before the first probe (TCP_KEEPIDLE).",
        ),
        Key::new(
            "interval",
            Kind::seconds(1, 32_767, None),
            Fallback::millis(10_000),
            "Between two probes (TCP_KEEPINTVL).",
        ),
        Key::new(
            "count",
            Kind::count(1, 127),
            Fallback::count(3),
            "Unanswered probes until the connection is dead (TCP_KEEPCNT).",
        ),
    ],
};

static PATH_TABLE: Table = Table {
    what: "an expected path",
    choices: &[],
    keys: &[
        Key::new(
            "rate",
            Kind::Rate { min: 1_000, max: 1_000_000_000_000, unset: None },
            Fallback::Required,
            "The rate wanted.",
        ),
        Key::new(
            "round-trip",
            Kind::time(0, 60_000),
            Fallback::Required,
            "The round trip of the path.",
        ),
    ],
};

const NODELAY: Key = Key::new(
    "nodelay",
    Kind::Flag,
    Fallback::Is(Value::Flag(true)),
    "Send small segments at once (TCP_NODELAY).",
);

const KEEP_ALIVE: Key = Key::new(
    "keep-alive",
    Kind::Table { table: &KEEP_ALIVE_TABLE, short: Short::Key("idle"), unset: Some("off") },
    Fallback::Inner,
    "Probing of silent connections (SO_KEEPALIVE). Short form: the idle time.",
);

const USER_TIMEOUT: Key = Key::new(
    "user-timeout",
    Kind::time_or(1, 7 * DAY, "system"),
    Fallback::unset("system"),
    "How long sent data may stay unacknowledged (TCP_USER_TIMEOUT).",
);

const MSS: Key = Key::new(
    "mss",
    Kind::count_or(88, 65_495, "auto"),
    Fallback::unset("auto"),
    "Largest segment, in bytes (TCP_MAXSEG).",
);

const CONGESTION: Key = Key::new(
    "congestion",
    Kind::Text { form: Form::Congestion, unset: Some("system") },
    Fallback::unset("system"),
    "Congestion control, by the kernel's name for it (TCP_CONGESTION).",
);

const FAST_OPEN: Key = Key::new(
    "fast-open",
    Kind::count_or(1, 65_535, "off"),
    Fallback::unset("off"),
    "TCP Fast Open: the queue's length for a service (TCP_FASTOPEN), any number for a pool (TCP_FASTOPEN_CONNECT).",
);

const MPTCP: Key = Key::new(
    "mptcp",
    Kind::Flag,
    Fallback::Is(Value::Flag(false)),
    "Multipath TCP (IPPROTO_MPTCP).",
);

const TRANSPARENT: Key = Key::new(
    "transparent",
    Kind::Flag,
    Fallback::Is(Value::Flag(false)),
    "A service accepts for any address; a pool connects from the client's address (IP_TRANSPARENT; needs \
         CAP_NET_ADMIN).",
);

const INTERFACE: Key = Key::new(
    "interface",
    Kind::Text { form: Form::Interface, unset: Some("any") },
    Fallback::unset("any"),
    "Bound to this network interface (SO_BINDTODEVICE).",
);

const MARK: Key = Key::new(
    "mark",
    Kind::count_or(1, u32::MAX as u64, "off"),
    Fallback::unset("off"),
    "Mark for routing and filters (SO_MARK; needs CAP_NET_ADMIN).",
);

const SEND_BUFFER: Key = Key::new(
    "send-buffer",
    Kind::Size { min: 4_096, max: BUFFER_MAX, unset: Some("auto") },
    Fallback::unset("auto"),
    "Bytes asked for (SO_SNDBUF); `auto` leaves the kernel's autotuning on.",
);

const RECEIVE_BUFFER: Key = Key::new(
    "receive-buffer",
    Kind::Size { min: 4_096, max: BUFFER_MAX, unset: Some("auto") },
    Fallback::unset("auto"),
    "Bytes asked for (SO_RCVBUF); `auto` leaves the kernel's autotuning on.",
);

const PATH: Key = Key::new(
    "path",
    Kind::Table { table: &PATH_TABLE, short: Short::None, unset: Some("off") },
    Fallback::unset("off"),
    "What the path is expected to carry; only for warnings about buffers that are too small for it.",
);

const DEFER_ACCEPT: Key = Key::new(
    "defer-accept",
    Kind::seconds(1, 3_600, Some("off")),
    Fallback::unset("off"),
    "Wake for a new client only when it has sent something, or after this time (TCP_DEFER_ACCEPT); services only.",
);

const BACKLOG: Key = Key::new(
    "backlog",
    Kind::count(1, 65_535),
    Fallback::count(4_096),
    "Connections waiting to be accepted, per listener (listen(2)); services only.",
);
