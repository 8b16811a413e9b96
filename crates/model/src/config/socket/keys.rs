//! Describes `socket`: socket options of a service or of a pool.

use crate::config::schema::{
    DefaultValue, KeySchema, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

/// One day, in milliseconds.
const DAY: u64 = 86_400_000;

/// Far above any window; the kernel doubles the value, which must fit an int.
const BUFFER_MAX: u64 = 512 * 1_024 * 1_024;

/// The common keys of all `socket` tables, then the table's own.
macro_rules! with_common {
    ($($own:expr),*) => {
        &[NODELAY, DELAYED_ACK, KEEP_ALIVE, USER_TIMEOUT, SYN_RETRIES, MSS, CONGESTION, FAST_OPEN, MPTCP, TRANSPARENT,
          INTERFACE, MARK, SEND_BUFFER, RECEIVE_BUFFER, PATH, $($own),*]
    };
}

/// Options in `[global]`, for services and pools, and in a service.
pub static ALL: TableSchema = TableSchema {
    description: "socket settings",
    exclusive_groups: &[],
    keys: with_common!(MSS_MIN, DEFER_ACCEPT, BACKLOG),
};

pub static POOL: TableSchema = TableSchema {
    description: "socket settings of a pool",
    exclusive_groups: &[],
    keys: with_common!(
        KeySchema::refused("mss-min", NOT_A_POOL),
        KeySchema::refused("defer-accept", NOT_A_POOL),
        KeySchema::refused("backlog", NOT_A_POOL)
    ),
};

const NOT_A_POOL: &str = "a pool accepts nothing; it belongs to `socket` of a service";

static KEEP_ALIVE_TABLE: TableSchema = TableSchema {
    description: "keep-alive settings",
    exclusive_groups: &[],
    keys: &[
        // The bounds of these three keys are the kernel's (MAX_TCP_KEEPIDLE, MAX_TCP_KEEPINTVL and MAX_TCP_KEEPCNT of
        // net/tcp.h).
        KeySchema::new(
            "idle",
            ValueKind::seconds(1, 32_767, None),
            DefaultValue::millis(60_000),
            "Idle time before the first keep-alive probe (TCP_KEEPIDLE).",
        ),
        KeySchema::new(
            "interval",
            ValueKind::seconds(1, 32_767, None),
            DefaultValue::millis(10_000),
            "Time between two keep-alive probes (TCP_KEEPINTVL).",
        ),
        KeySchema::new(
            "count",
            ValueKind::count(1, 127),
            DefaultValue::count(3),
            "Unanswered keep-alive probes until the connection is closed (TCP_KEEPCNT).",
        ),
    ],
};

static PATH_TABLE: TableSchema = TableSchema {
    description: "an expected path",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "rate",
            ValueKind::Rate { min: 1_000, max: 1_000_000_000_000, unset: None },
            DefaultValue::Required,
            "The expected rate.",
        ),
        KeySchema::new(
            "round-trip",
            ValueKind::time(0, 60_000),
            DefaultValue::Required,
            "The round trip of the path.",
        ),
    ],
};

const NODELAY: KeySchema = KeySchema::new(
    "nodelay",
    ValueKind::Flag,
    DefaultValue::Literal(ConfigValue::Flag(true)),
    "Send small segments at once (TCP_NODELAY).",
);

const DELAYED_ACK: KeySchema = KeySchema::new(
    "delayed-ack",
    ValueKind::Flag,
    DefaultValue::Literal(ConfigValue::Flag(true)),
    "Acknowledge received data together with data to send, or after at most 40 ms. `false`: at once, with one system \
     call more for each read (TCP_QUICKACK).",
);

/// The bounds are the kernel's (MAX_TCP_SYNCNT of net/tcp.h).
const SYN_RETRIES: KeySchema = KeySchema::new(
    "syn-retries",
    ValueKind::count_or_keyword(1, 127, "system"),
    DefaultValue::unset("system"),
    "How many times a pool repeats a SYN, and a service the answer to one, before it gives up (TCP_SYNCNT). The first \
     time after 1 s, then after twice as long each time. `timeout.connect` may end it earlier.",
);

const KEEP_ALIVE: KeySchema = KeySchema::new(
    "keep-alive",
    ValueKind::Table {
        table: &KEEP_ALIVE_TABLE,
        short: TableShorthand::Key("idle"),
        unset: Some("off"),
    },
    DefaultValue::Inner,
    "TCP keep-alive (SO_KEEPALIVE). Short form: the idle time.",
);

/// A week at most; the kernel itself gives up after about 15 minutes (net.ipv4.tcp_retries2).
const USER_TIMEOUT: KeySchema = KeySchema::new(
    "user-timeout",
    ValueKind::time_or_keyword(1, 7 * DAY, "system"),
    DefaultValue::unset("system"),
    "How long sent data may stay unacknowledged (TCP_USER_TIMEOUT).",
);

/// From the kernel's TCP_MIN_MSS to the longest IPv4 packet less 40 bytes of headers.
const MSS: KeySchema = KeySchema::new(
    "mss",
    ValueKind::count_or_keyword(88, 65_495, "auto"),
    DefaultValue::unset("auto"),
    "Largest segment, in bytes (TCP_MAXSEG).",
);

/// Has the same bounds as `mss`.
const MSS_MIN: KeySchema = KeySchema::new(
    "mss-min",
    ValueKind::count_or_keyword(88, 65_495, "off"),
    DefaultValue::unset("off"),
    "Smallest segment, in bytes, that a client may accept: a connection with a smaller one is reset with the cause \
     `segments-too-small`. It protects against clients that make every packet tiny. 12 bytes of time stamps do not \
     count; services only.",
);

const CONGESTION: KeySchema = KeySchema::new(
    "congestion",
    ValueKind::Text { form: TextFormat::Congestion, unset: Some("system") },
    DefaultValue::unset("system"),
    "Congestion control, by the kernel's name for it (TCP_CONGESTION).",
);

/// As for `backlog`.
const FAST_OPEN: KeySchema = KeySchema::new(
    "fast-open",
    ValueKind::count_or_keyword(1, 65_535, "off"),
    DefaultValue::unset("off"),
    "TCP Fast Open: the queue's length for a service (TCP_FASTOPEN), any number for a pool (TCP_FASTOPEN_CONNECT).",
);

const MPTCP: KeySchema = KeySchema::new(
    "mptcp",
    ValueKind::Flag,
    DefaultValue::Literal(ConfigValue::Flag(false)),
    "Multipath TCP (IPPROTO_MPTCP).",
);

const TRANSPARENT: KeySchema = KeySchema::new(
    "transparent",
    ValueKind::Flag,
    DefaultValue::Literal(ConfigValue::Flag(false)),
    "A service accepts for any address; a pool connects from the client's address (IP_TRANSPARENT; needs \
         CAP_NET_ADMIN).",
);

const INTERFACE: KeySchema = KeySchema::new(
    "interface",
    ValueKind::Text { form: TextFormat::Interface, unset: Some("any") },
    DefaultValue::unset("any"),
    "Bound to this network interface (SO_BINDTODEVICE).",
);

/// Marks of the kernel have 32 bits; 0 is no mark.
const MARK: KeySchema = KeySchema::new(
    "mark",
    ValueKind::count_or_keyword(1, u32::MAX as u64, "off"),
    DefaultValue::unset("off"),
    "Mark for routing and filters (SO_MARK; needs CAP_NET_ADMIN).",
);

/// The least is a page, which the kernel doubles.
const SEND_BUFFER: KeySchema = KeySchema::new(
    "send-buffer",
    ValueKind::Size { min: 4_096, max: BUFFER_MAX, unset: Some("auto") },
    DefaultValue::unset("auto"),
    "Send buffer in bytes (SO_SNDBUF); `auto`: the kernel's autotuning.",
);

/// The least is a page, which the kernel doubles.
const RECEIVE_BUFFER: KeySchema = KeySchema::new(
    "receive-buffer",
    ValueKind::Size { min: 4_096, max: BUFFER_MAX, unset: Some("auto") },
    DefaultValue::unset("auto"),
    "Receive buffer in bytes (SO_RCVBUF); `auto`: the kernel's autotuning.",
);

const PATH: KeySchema = KeySchema::new(
    "path",
    ValueKind::Table { table: &PATH_TABLE, short: TableShorthand::None, unset: Some("off") },
    DefaultValue::unset("off"),
    "Expected rate and round trip of the path; only for warnings about buffers that are too small.",
);

/// An hour at most; the kernel rounds the time to its retransmissions of the SYN-ACK.
const DEFER_ACCEPT: KeySchema = KeySchema::new(
    "defer-accept",
    ValueKind::seconds(1, 3_600, Some("off")),
    DefaultValue::unset("off"),
    "Accept a client only when it has sent data, or after this time (TCP_DEFER_ACCEPT); services only.",
);

/// 4,096 is the default of net.core.somaxconn since Linux 5.4, which caps this value.
const BACKLOG: KeySchema = KeySchema::new(
    "backlog",
    ValueKind::count(1, 65_535),
    DefaultValue::count(4_096),
    "Connections waiting to be accepted, per listener (listen(2)); services only.",
);
