//! Describes `[vrrp.NAME]`: an address that this machine shares with others.

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};
use super::super::value::Value;

/// Groups that one file may hold.
pub const GROUPS: usize = 255;

/// Shared addresses of one group: an advertisement counts them in a byte, and must fit a packet.
pub const ADDRESSES: usize = 64;

/// `[vrrp.NAME]`.
pub static VRRP: Table = Table {
    what: "a group of vrrp",
    choices: &[],
    keys: &[
        Key::new(
            "interface",
            Kind::Text { form: Form::Interface, unset: None },
            Fallback::Required,
            "Where the addresses are shared, and where advertisements go and come from.",
        ),
        Key::new(
            "id",
            Kind::count(1, 255),
            Fallback::Required,
            "The virtual router's number, the same on every member.",
        ),
        Key::new(
            "addresses",
            Kind::Addresses,
            Fallback::Required,
            "What is shared, all of one family; the active member has them as `/32` or `/128`.",
        ),
        Key::new(
            "also",
            Kind::List { table: &ALSO, short: Short::None, most: GROUPS },
            Fallback::Absent,
            "Addresses that move with the group and that advertisements do not name, of either family and at any \
             interface: return addresses of `nat`, where servers find whoever is active.",
        ),
        Key::new(
            "version",
            Kind::count(2, 3),
            Fallback::count(3),
            "VRRP's version, the same on every member: 3, or 2 for old peers, with IPv4 and whole seconds.",
        ),
        Key::new(
            "priority",
            Kind::count(1, 255),
            Fallback::count(100),
            "The highest is active; of equal ones that with the higher address. 255: the address is our own, and we are \
             active at once.",
        ),
        Key::new(
            "advertise",
            Kind::time(10, 40_950),
            Fallback::millis(1_000),
            "Between two advertisements, in steps of 10 ms; the others take over after three and a bit.",
        ),
        Key::new(
            "preempt",
            Kind::Flag,
            Fallback::Is(Value::Flag(true)),
            "Take over from a lower priority. `false`: whoever is active stays, until it fails or `steelyard takeover`.",
        ),
        Key::new(
            "preempt-delay",
            Kind::time(0, 3_600_000),
            Fallback::millis(0),
            "How long a lower priority is borne before that.",
        ),
        Key::new(
            "peers",
            Kind::Addresses,
            Fallback::Absent,
            "Send to these members and not to the multicast group, where a network carries none. Only they are heard.",
        ),
        Key::new(
            "allow",
            Kind::Prefixes,
            Fallback::Derived("`peers`; without them everybody on the link"),
            "Whose advertisements are heard; those of others are counted and dropped.",
        ),
        Key::new(
            "source",
            Kind::Addresses,
            Fallback::Derived(
                "the interface's first address of that family; IPv6: its link-local one",
            ),
            "Our address in advertisements, one.",
        ),
        Key::new(
            "link-address",
            Kind::Words(&[Word::of("own"), Word::of("virtual")]),
            Fallback::word("own"),
            "The link address of `addresses`: the interface's `own`, so that neighbours are told of another one when they \
             move; or the `virtual` router's, 00:00:5e:00:01 or, with IPv6, 00:00:5e:00:02, and `id`, which stays the same. \
             The addresses are then on a link of their own that the daemon makes at the interface (macvlan).",
        ),
        Key::new(
            "dead-man",
            Kind::time_or(20, 120_000, "off"),
            Fallback::Derived("two and a half times `advertise`"),
            "When the daemon has advertised nothing for so long, the kernel stops answering for the addresses although it \
             has them: shorter than the others wait, longer than a restart. `off`: a daemon that hangs keeps them.",
        ),
        Key::new(
            "self-check",
            Kind::time_or(1_000, 3_600_000, "off"),
            Fallback::millis(10_000),
            "While active, so often it is asked whether an address answers elsewhere; who announces one is heard at any time. \
             `off`: neither.",
        ),
        Key::new(
            "announce-every",
            Kind::time_or(1_000, 3_600_000, "off"),
            Fallback::millis(60_000),
            "While active, so often the addresses are announced to neighbours although nothing changed, for those that \
             missed the announcements of a change. `off`: only after a change.",
        ),
    ],
};

/// An entry of `also`.
pub static ALSO: Table = Table {
    what: "addresses that move with a group",
    choices: &[],
    keys: &[
        Key::new(
            "addresses",
            Kind::Addresses,
            Fallback::Required,
            "What moves; the active member has them as `/32` or `/128`.",
        ),
        Key::new(
            "interface",
            Kind::Text { form: Form::Interface, unset: None },
            Fallback::Derived("the group's"),
            "Where they are. When its link is down the member gives up.",
        ),
    ],
};
