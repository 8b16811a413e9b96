//! `[service.NAME.normalize]`: what a packet service takes of TCP headers. Acting on it is the datapath's job.

use serde::Serialize;

use crate::config::schema::{DefaultValue, KeySchema, Keyword, TableSchema, ValueKind};
use crate::config::section::ConfigSection;

/// The policy for TCP headers of a service.
pub const NORMALIZE: KeySchema = KeySchema::new(
    "normalize",
    ValueKind::table(&NORMALIZE_TABLE),
    DefaultValue::Inner,
    "Parts of TCP headers that are removed from packets, or whose packets are dropped.",
)
.packets_only();

static NORMALIZE_TABLE: TableSchema = TableSchema {
    description: "the policy for TCP headers",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "mss",
            ACTIONS,
            DefaultValue::keyword("allow"),
            "The largest segment (MSS) in SYN and SYN/ACK. `clear`: removed, so both ends send the smallest segments: \
             536 bytes over IPv4, 1220 over IPv6; `drop`: such packets are dropped.",
        ),
        KeySchema::new(
            "window-scale",
            ACTIONS,
            DefaultValue::keyword("allow"),
            "Window scale (RFC 7323) in SYN and SYN/ACK. `clear`: removed, so at most 64 KiB are in flight; `drop`: \
             such packets are dropped.",
        ),
        KeySchema::new(
            "sack",
            ACTIONS,
            DefaultValue::keyword("allow"),
            "Selective acknowledgements (RFC 2018), which SYN and SYN/ACK permit. `clear`: removed; `drop`: such \
             packets are dropped.",
        ),
        KeySchema::new(
            "timestamps",
            ACTIONS,
            DefaultValue::keyword("allow"),
            "Timestamps (RFC 7323) in SYN and SYN/ACK. `clear`: removed, so neither end sends any later; `drop`: such \
             packets are dropped.",
        ),
        KeySchema::new(
            "reserved-bits",
            ACTIONS,
            DefaultValue::keyword("allow"),
            "Reserved bits of the header (RFC 9293), without the bit of accurate ECN. `clear`: set to zero; `drop`: such \
             packets are dropped.",
        ),
        KeySchema::new(
            "urgent",
            ACTIONS,
            DefaultValue::keyword("allow"),
            "The urgent flag. `clear`: flag and pointer are set to zero, so the receiver reads urgent data in line; \
             `drop`: such packets are dropped.",
        ),
        KeySchema::new(
            "syn-data",
            DROPPING,
            DefaultValue::keyword("allow"),
            "Data in SYN packets, as TCP Fast Open (RFC 7413) sends it. `drop`: such packets are dropped; clients of \
             TCP Fast Open then repeat the SYN without data.",
        ),
        KeySchema::new(
            "exceed-mss",
            DROPPING,
            DefaultValue::keyword("allow"),
            "`nat`: segments with more data than their receiver announced (MSS). `drop`: such packets are dropped, \
             where packets are taken in the driver (native XDP).",
        ),
    ],
};

const DROPPING: ValueKind = ValueKind::Keyword(&[Keyword::new("allow"), Keyword::new("drop")]);
const ACTIONS: ValueKind =
    ValueKind::Keyword(&[Keyword::new("allow"), Keyword::new("clear"), Keyword::new("drop")]);

/// What becomes of a part of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderAction {
    /// It stays in the packet.
    #[default]
    Allow,
    /// It is removed from the packet.
    Clear,
    /// The whole packet is dropped.
    Drop,
}

/// What a service takes of TCP headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TcpNormalization {
    /// The largest segment (MSS) of an end.
    pub mss: HeaderAction,
    /// The scale of windows (RFC 7323).
    pub window_scale: HeaderAction,
    /// Selective acknowledgements (RFC 2018).
    pub sack: HeaderAction,
    /// Timestamps of segments (RFC 7323).
    pub timestamps: HeaderAction,
    /// Reserved bits of the header.
    pub reserved_bits: HeaderAction,
    /// The urgent flag and its pointer.
    pub urgent: HeaderAction,
    /// A SYN with data is dropped.
    pub drops_syn_data: bool,
    /// A segment with more data than its receiver announced is dropped.
    pub drops_exceeding_segments: bool,
}

pub fn build_normalization(section: &ConfigSection) -> TcpNormalization {
    let action = |key: &str| match section.text(key) {
        Some("clear") => HeaderAction::Clear,
        Some("drop") => HeaderAction::Drop,
        _ => HeaderAction::Allow,
    };
    TcpNormalization {
        mss: action("mss"),
        window_scale: action("window-scale"),
        sack: action("sack"),
        timestamps: action("timestamps"),
        reserved_bits: action("reserved-bits"),
        urgent: action("urgent"),
        drops_syn_data: action("syn-data") == HeaderAction::Drop,
        drops_exceeding_segments: action("exceed-mss") == HeaderAction::Drop,
    }
}
