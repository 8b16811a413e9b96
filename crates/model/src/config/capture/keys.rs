//! Describes `[capture.NAME]`: conditions that start a packet capture automatically.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, TableSchema, TextFormat, ValueKind};
use crate::config::value::ConfigValue;

/// Limit for the rules of one file.
pub const RULES: usize = 32;

/// The dominant causes of an exchange's time, as in `explain slow`.
static CAUSES: [Keyword; 15] = [
    Keyword::new("APP_SENDER"),
    Keyword::new("BALANCER_HOLD"),
    Keyword::new("CONNECT"),
    Keyword::new("CWND"),
    Keyword::new("LATENCY"),
    Keyword::new("LINK_RATE"),
    Keyword::new("LOSS"),
    Keyword::new("QUEUE"),
    Keyword::new("RWND"),
    Keyword::new("SEND_BUFFER"),
    Keyword::new("SERVER_THINK"),
    Keyword::new("SLOW_START"),
    Keyword::new("STREAM_WINDOW"),
    Keyword::new("TLS"),
    Keyword::new("ZERO_WINDOW"),
];

pub static CAPTURE: TableSchema = TableSchema {
    description: "a capture",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "service",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Absent,
            "The service to capture; none: every proxied one.",
        ),
        KeySchema::new(
            "latency",
            ValueKind::time(1, 3_600_000),
            DefaultValue::Absent,
            "An exchange that takes longer starts a capture, if it meets the other conditions too.",
        ),
        KeySchema::new(
            "reason",
            ValueKind::KeywordList(&CAUSES),
            DefaultValue::Absent,
            "An exchange that spent most of its time on one of these, as `explain slow` names them, starts a capture.",
        ).formerly(&["cause"]),
        KeySchema::new(
            "from",
            ValueKind::Prefixes,
            DefaultValue::Absent,
            "Client networks; none: all. Alone: every measured exchange of these clients starts a capture.",
        ),
        KeySchema::new(
            "errors",
            ValueKind::count(1, 99),
            DefaultValue::Absent,
            "A percentage of errors among a service's exchanges within ten seconds, of at least twenty, that starts a \
             capture.",
        ),
        // A payload of 16 KiB is one record of TLS; captures must not become copies of the traffic.
        KeySchema::new(
            "payload",
            ValueKind::size(0, 16 * 1024),
            DefaultValue::Literal(ConfigValue::Size(0)),
            "Bytes to store behind the TCP header of packets that begin with an HTTP/1 head, without the values of \
             fields that carry secrets; of all others only the headers are stored.",
        ),
        KeySchema::new(
            "size",
            ValueKind::size(64 * 1024, 1024 * 1024 * 1024),
            DefaultValue::Literal(ConfigValue::Size(4 * 1024 * 1024)),
            "Size of the packets in memory, and of the largest file.",
        ),
        // Two seconds after the trigger: retransmissions that follow it are seen.
        KeySchema::new(
            "duration",
            ValueKind::time(0, 600_000),
            DefaultValue::millis(2_000),
            "How long a capture goes on after its start.",
        ).formerly(&["time"]),
        // A trigger that holds for hours makes one file a minute, not one for each packet.
        KeySchema::new(
            "pause",
            ValueKind::time(0, 86_400_000),
            DefaultValue::millis(60_000),
            "Pause from the end of a capture to the beginning of the next.",
        ),
        KeySchema::new(
            "keep",
            ValueKind::count(1, 1_000),
            DefaultValue::count(10),
            "Files that are stored; the oldest is removed.",
        ),
    ],
};
