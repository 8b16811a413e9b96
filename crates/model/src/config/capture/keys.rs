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
            "The service that it is about; none: every proxied one.",
        ),
        KeySchema::new(
            "latency",
            ValueKind::time(1, 3_600_000),
            DefaultValue::Absent,
            "An exchange that takes longer calls for a capture, if the other conditions hold too.",
        ),
        KeySchema::new(
            "cause",
            ValueKind::KeywordList(&CAUSES),
            DefaultValue::Absent,
            "An exchange most of whose time is one of these, as `explain slow` names them.",
        ),
        KeySchema::new(
            "from",
            ValueKind::Prefixes,
            DefaultValue::Absent,
            "Clients that it is about; none: all. Alone: whatever is measured of them calls for a capture.",
        ),
        KeySchema::new(
            "errors",
            ValueKind::count(1, 99),
            DefaultValue::Absent,
            "More than so many percent of a service's exchanges were errors within ten seconds, of at least twenty.",
        ),
        // A payload of 16 KiB is one record of TLS; captures must not become copies of the traffic.
        KeySchema::new(
            "payload",
            ValueKind::size(0, 16 * 1024),
            DefaultValue::Literal(ConfigValue::Size(0)),
            "Of packets with which a head of HTTP/1 begins, so much is kept beyond the TCP header, without the values of \
             fields that carry secrets; of all others headers alone.",
        ),
        KeySchema::new(
            "size",
            ValueKind::size(64 * 1024, 1024 * 1024 * 1024),
            DefaultValue::Literal(ConfigValue::Size(4 * 1024 * 1024)),
            "So much of what passed is kept in memory, and so large a file may be.",
        ),
        // Two seconds after the trigger: retransmissions that follow it are seen.
        KeySchema::new(
            "time",
            ValueKind::time(0, 600_000),
            DefaultValue::millis(2_000),
            "How long packets of the connections concerned are added after it began.",
        ),
        // A trigger that holds for hours makes one file a minute, not one for each packet.
        KeySchema::new(
            "pause",
            ValueKind::time(0, 86_400_000),
            DefaultValue::millis(60_000),
            "From the end of one to the beginning of the next.",
        ),
        KeySchema::new(
            "keep",
            ValueKind::count(1, 1_000),
            DefaultValue::count(10),
            "Files that are kept; the oldest goes.",
        ),
    ],
};
