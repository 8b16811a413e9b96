//! Describes `[vrrp.NAME]`: virtual IP addresses that this machine shares with others.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

/// Limit for the groups of one file.
/// As many as there are virtual router ids on one link.
pub const GROUPS: usize = 255;

/// Limit for the shared addresses of one group: an advertisement has one byte for their number, and must fit a packet.
pub const ADDRESSES: usize = 64;

pub static VRRP: TableSchema = TableSchema {
    description: "a group of vrrp",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "interface",
            ValueKind::Text { form: TextFormat::Interface, unset: None },
            DefaultValue::Required,
            "The interface of the shared addresses and of advertisements.",
        ),
        // A virtual router id is one byte without 0 (RFC 9568 §5.2.3).
        KeySchema::new(
            "id",
            ValueKind::count(1, 255),
            DefaultValue::Required,
            "Virtual router ID (VRID), the same on every member.",
        ),
        KeySchema::new(
            "addresses",
            ValueKind::Addresses,
            DefaultValue::Required,
            "The shared virtual addresses (VIPs), all of one family. The active member has them as `/32` or `/128`.",
        ),
        KeySchema::new(
            "unadvertised",
            ValueKind::List { table: &ALSO, short: TableShorthand::None, most: GROUPS },
            DefaultValue::Absent,
            "More addresses that move with the group, of either family and at any interface. Advertisements do not \
             name them. Return addresses of `nat` belong here.",
        ).formerly(&["also"]),
        // RFC 3768 and RFC 9568.
        KeySchema::new(
            "version",
            ValueKind::count(2, 3),
            DefaultValue::count(3),
            "VRRP version, the same on every member: 3, or 2 for old peers, with IPv4 and whole seconds.",
        ),
        // 255 is for the owner of the address; 100 is the default of RFC 9568 §5.2.4.
        KeySchema::new(
            "priority",
            ValueKind::count(1, 255),
            DefaultValue::count(100),
            "The member of the highest priority becomes active; of equal ones the one with the higher address. 255: \
             this machine owns the address and is active at once.",
        ),
        // The field has 12 bits of centiseconds (RFC 9568 §5.2.7); 10 ms is its unit, 1 s its default (§6.1).
        KeySchema::new(
            "advertise",
            ValueKind::time(10, 40_950),
            DefaultValue::millis(1_000),
            "Time between two advertisements, in steps of 10 ms. Other members take over after three times this and \
             the skew time.",
        ),
        KeySchema::new(
            "preempt",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "Take over from an active member of lower priority. `false`: the active member stays until it fails, or \
             until `steelyard takeover`.",
        ),
        // By default a better member takes over at once (RFC 9568 §6.1, Preempt_Mode).
        KeySchema::new(
            "preempt-delay",
            ValueKind::time(0, 3_600_000),
            DefaultValue::millis(0),
            "How long to wait before taking over from a lower priority.",
        ),
        KeySchema::new(
            "peers",
            ValueKind::Addresses,
            DefaultValue::Absent,
            "Unicast: send to these members instead of the multicast group, and accept advertisements from them \
             only.",
        ),
        KeySchema::new(
            "allow",
            ValueKind::Prefixes,
            DefaultValue::Derived("`peers`; without them every sender on the link"),
            "Whose advertisements are accepted; others are dropped and counted.",
        ),
        KeySchema::new(
            "source",
            ValueKind::Addresses,
            DefaultValue::Derived(
                "the interface's first address of that family; IPv6: its link-local one",
            ),
            "Source address of advertisements.",
        ),
        KeySchema::new(
            "link-address",
            ValueKind::Keyword(&[Keyword::new("own"), Keyword::new("virtual")]),
            DefaultValue::keyword("own"),
            "MAC address of `addresses`. `own`: the interface's, which changes with a failover. `virtual`: the \
             virtual router's, which stays the same: 00:00:5e:00:01 (IPv6: 00:00:5e:00:02) and `id`. The addresses \
             are then on a macvlan link that the daemon makes at the interface.",
        ),
        KeySchema::new(
            "fencing-timeout",
            ValueKind::time_or_keyword(20, 120_000, "off"),
            DefaultValue::Derived("two and a half times `advertise`"),
            "Fencing (dead-man timer): when the daemon has sent no advertisement for this long, the kernel drops \
             packets to and from the addresses. Shorter than the failover time, longer than a restart. `off`: a \
             daemon that hangs keeps the addresses.",
        )
        .formerly(&["dead-man"]),
        KeySchema::new(
            "duplicate-check",
            ValueKind::time_or_keyword(1_000, 3_600_000, "off"),
            DefaultValue::millis(10_000),
            "Duplicate address detection: how often the active member checks whether another host answers for an \
             address. Announcements of others are noticed at any time. `off`: neither.",
        ).formerly(&["self-check"]),
        KeySchema::new(
            "announce-interval",
            ValueKind::time_or_keyword(1_000, 3_600_000, "off"),
            DefaultValue::millis(60_000),
            "How often the active member repeats gratuitous ARP or neighbour advertisements, for neighbours that \
             missed those of a failover. `off`: only after a failover.",
        ).formerly(&["announce-every"]),
    ],
};

/// An entry of `unadvertised`.
pub static ALSO: TableSchema = TableSchema {
    description: "addresses that move with a group",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "addresses",
            ValueKind::Addresses,
            DefaultValue::Required,
            "The addresses. The active member has them as `/32` or `/128`.",
        ),
        KeySchema::new(
            "interface",
            ValueKind::Text { form: TextFormat::Interface, unset: None },
            DefaultValue::Derived("the group's"),
            "Their interface. When its link is down the member gives up.",
        ),
    ],
};
