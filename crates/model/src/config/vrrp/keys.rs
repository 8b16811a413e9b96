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
            "Where the addresses are shared, and where advertisements go and come from.",
        ),
        // A virtual router id is one byte without 0 (RFC 9568 §5.2.3).
        KeySchema::new(
            "id",
            ValueKind::count(1, 255),
            DefaultValue::Required,
            "The virtual router's number, the same on every member.",
        ),
        KeySchema::new(
            "addresses",
            ValueKind::Addresses,
            DefaultValue::Required,
            "What is shared, all of one family; the active member has them as `/32` or `/128`.",
        ),
        KeySchema::new(
            "also",
            ValueKind::List { table: &ALSO, short: TableShorthand::None, most: GROUPS },
            DefaultValue::Absent,
            "Addresses that move with the group and that advertisements do not name, of either family and at any \
             interface: return addresses of `nat`, where servers find whoever is active.",
        ),
        // RFC 3768 and RFC 9568.
        KeySchema::new(
            "version",
            ValueKind::count(2, 3),
            DefaultValue::count(3),
            "VRRP's version, the same on every member: 3, or 2 for old peers, with IPv4 and whole seconds.",
        ),
        // 255 is for the owner of the address; 100 is the default of RFC 9568 §5.2.4.
        KeySchema::new(
            "priority",
            ValueKind::count(1, 255),
            DefaultValue::count(100),
            "The highest is active; of equal ones that with the higher address. 255: the address is our own, and we are \
             active at once.",
        ),
        // The field has 12 bits of centiseconds (RFC 9568 §5.2.7); 10 ms is its unit, 1 s its default (§6.1).
        KeySchema::new(
            "advertise",
            ValueKind::time(10, 40_950),
            DefaultValue::millis(1_000),
            "Between two advertisements, in steps of 10 ms; the others take over after three and a bit.",
        ),
        KeySchema::new(
            "preempt",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "Take over from a lower priority. `false`: whoever is active stays, until it fails or `steelyard takeover`.",
        ),
        // By default a better member takes over at once (RFC 9568 §6.1, Preempt_Mode).
        KeySchema::new(
            "preempt-delay",
            ValueKind::time(0, 3_600_000),
            DefaultValue::millis(0),
            "How long a lower priority is borne before that.",
        ),
        KeySchema::new(
            "peers",
            ValueKind::Addresses,
            DefaultValue::Absent,
            "Send to these members and not to the multicast group, where a network carries none. Only they are heard.",
        ),
        KeySchema::new(
            "allow",
            ValueKind::Prefixes,
            DefaultValue::Derived("`peers`; without them everybody on the link"),
            "Whose advertisements are heard; those of others are counted and dropped.",
        ),
        KeySchema::new(
            "source",
            ValueKind::Addresses,
            DefaultValue::Derived(
                "the interface's first address of that family; IPv6: its link-local one",
            ),
            "Our address in advertisements, one.",
        ),
        KeySchema::new(
            "link-address",
            ValueKind::Keyword(&[Keyword::new("own"), Keyword::new("virtual")]),
            DefaultValue::keyword("own"),
            "The link address of `addresses`: the interface's `own`, so that neighbours are told of another one when they \
             move; or the `virtual` router's, 00:00:5e:00:01 or, with IPv6, 00:00:5e:00:02, and `id`, which stays the same. \
             The addresses are then on a link of their own that the daemon makes at the interface (macvlan).",
        ),
        KeySchema::new(
            "fencing-timeout",
            ValueKind::time_or_keyword(20, 120_000, "off"),
            DefaultValue::Derived("two and a half times `advertise`"),
            "When the daemon has advertised nothing for so long, the kernel stops answering for the addresses although it \
             has them: shorter than the others wait, longer than a restart. `off`: a daemon that hangs keeps them.",
        )
        .formerly(&["dead-man"]),
        KeySchema::new(
            "self-check",
            ValueKind::time_or_keyword(1_000, 3_600_000, "off"),
            DefaultValue::millis(10_000),
            "While active, so often it is asked whether an address answers elsewhere; who announces one is heard at any time. \
             `off`: neither.",
        ),
        KeySchema::new(
            "announce-every",
            ValueKind::time_or_keyword(1_000, 3_600_000, "off"),
            DefaultValue::millis(60_000),
            "While active, so often the addresses are announced to neighbours although nothing changed, for those that \
             missed the announcements of a change. `off`: only after a change.",
        ),
    ],
};

/// An entry of `also`.
pub static ALSO: TableSchema = TableSchema {
    description: "addresses that move with a group",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "addresses",
            ValueKind::Addresses,
            DefaultValue::Required,
            "What moves; the active member has them as `/32` or `/128`.",
        ),
        KeySchema::new(
            "interface",
            ValueKind::Text { form: TextFormat::Interface, unset: None },
            DefaultValue::Derived("the group's"),
            "Where they are. When its link is down the member gives up.",
        ),
    ],
};
