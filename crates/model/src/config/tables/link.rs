//! Describes `[link.NAME]`: several links to one far end, used as one.

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};
use super::super::value::Value;

/// Bundles that one file may hold.
pub const BUNDLES: usize = 16;

/// Links of one bundle.
pub const LINKS: usize = 8;

/// Bytes of a bundle's name: its device and the device's other end are named by it, and Linux takes 15 bytes.
pub const NAME: usize = 14;

/// `[link.NAME]`.
pub static LINK: Table = Table {
    what: "a bundle of links",
    choices: &[],
    keys: &[
        Key::new(
            "policy",
            Kind::Words(&[
                Word::of("hash"),
                Word::of("flowlet"),
                Word::of("round-robin"),
                Word::of("failover"),
            ]),
            Fallback::word("hash"),
            "Which link a packet takes: by addresses and ports, the same after silence only (`flowlet`), one after the \
             other, or the first that lives.",
        ),
        Key::new(
            "links",
            Kind::List { table: &MEMBER, short: Short::Key("via"), most: BUNDLES * LINKS },
            Fallback::Required,
            "Its links, two to eight, all to the same far end; with `failover` in the order of preference. \
             Short form: the next hop.",
        ),
        Key::new(
            "addresses",
            Kind::Addresses,
            Fallback::Absent,
            "Addresses of this machine on the bundle's device, as `/32` or `/128`.",
        ),
        Key::new(
            "routes",
            Kind::Prefixes,
            Fallback::Absent,
            "Networks that are sent over the bundle; routes to its device may be set by others as well.",
        ),
        Key::new(
            "gap",
            Kind::time(1, 60_000),
            Fallback::Derived(
                "a quarter more than the links' delays differ, and half a millisecond",
            ),
            "`flowlet`: silence after which a flow may change links. Longer than the delays differ, it keeps order.",
        ),
        Key::new(
            "equalise",
            Kind::Flag,
            Fallback::Is(Value::Flag(true)),
            "`round-robin`: hold packets of shorter links, so that all links take equally long and order is kept.",
        ),
        Key::new(
            "burst",
            Kind::count(1, 64),
            Fallback::count(16),
            "`round-robin`: packets of one stream that may take a link together. With 1 each is chosen for. More cost less of \
             the processor, and let packets overtake each other by as many.",
        ),
        Key::new(
            "probe",
            Kind::Table { table: &PROBE, short: Short::None, unset: Some("off") },
            Fallback::Inner,
            "How next hops are asked by ICMP echo whether their link lives, and how long it is. `off`: the carrier alone \
             says so, and delays are as written.",
        ),
    ],
};

/// A link of `links`.
pub static MEMBER: Table = Table {
    what: "a link of a bundle",
    choices: &[],
    keys: &[
        Key::new(
            "interface",
            Kind::Text { form: Form::Interface, unset: None },
            Fallback::Derived("the one by which `via` is reached without a router"),
            "Where it begins. An interface belongs to one bundle.",
        ),
        Key::new(
            "via",
            Kind::Addresses,
            Fallback::Required,
            "Its next hop, the far end's address on this link: one address, or one of each family.",
        ),
        Key::new(
            "capacity",
            Kind::Rate { min: 1_000, max: 1_000_000_000_000, unset: None },
            Fallback::Derived("all links alike"),
            "Its share goes by this; for all links of a bundle or for none.",
        ),
        Key::new(
            "delay",
            Kind::time(0, 1_000),
            Fallback::Derived("half the least round trip that is measured"),
            "How long a packet travels to the far end, where both directions differ.",
        ),
    ],
};

/// `probe`.
pub static PROBE: Table = Table {
    what: "a bundle's probe",
    choices: &[],
    keys: &[
        Key::new("every", Kind::time(20, 60_000), Fallback::millis(100), "Between two questions."),
        Key::new(
            "timeout",
            Kind::time(20, 60_000),
            Fallback::millis(300),
            "An answer that takes longer is none.",
        ),
        Key::new(
            "rise",
            Kind::count(1, 100),
            Fallback::count(2),
            "Answers in a row after which a dead link lives.",
        ),
        Key::new(
            "fall",
            Kind::count(1, 100),
            Fallback::count(3),
            "Questions in a row without an answer after which a link is dead.",
        ),
    ],
};
