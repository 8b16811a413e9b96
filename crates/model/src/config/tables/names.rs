//! Describes `[names]`, `[zone.NAME]` and `[name.NAME]`: DNS answers for services and servers.

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};
use super::super::value::Value;

/// Zones that one file may hold.
pub const ZONES: usize = 1_000;

/// Names that one file may hold.
pub const NAMES: usize = 10_000;

/// Networks of clients that the regions of all names may have together.
pub const REGIONS: usize = 10_000;

/// Addresses that all names may list themselves.
pub const ADDRESSES: usize = 65_536;

/// Bytes of one string of a text record (RFC 1035 §3.3.14).
pub const STRING: usize = 255;

/// `[names]`.
pub static SERVER: Table = Table {
    what: "the table of the name server",
    choices: &[],
    keys: &[
        Key::new(
            "listen",
            Kind::Listen,
            Fallback::Absent,
            "Where queries are answered, over UDP and TCP, each an address of its own. None: names are not served.",
        ),
        Key::new(
            "threads",
            Kind::count(1, 64),
            Fallback::count(1),
            "Threads that answer over UDP, each with a socket of its own at every address. Takes a restart.",
        ),
        Key::new(
            "udp-size",
            Kind::size(512, 4_096),
            Fallback::Is(Value::Size(1_232)),
            "The largest answer over UDP, and what we say that we take (RFC 6891 §6.2.5).",
        ),
        Key::new(
            "rate",
            Kind::count_or(1, 10_000_000, "off"),
            Fallback::count(500),
            "Answers of one kind a second to one network of clients (IPv4 /24, IPv6 /56) over UDP without a cookie; \
             `off`: as many as are asked for.",
        ),
        Key::new(
            "slip",
            Kind::count_or(1, 10, "off"),
            Fallback::count(1),
            "One query in so many above the rate is told to come over TCP, the others get no answer: with 1 all are told, \
             in no more bytes than they sent; `off`: none is told.",
        ),
        Key::new(
            "client-subnet",
            Kind::Flag,
            Fallback::Is(Value::Flag(true)),
            "A resolver's word about its client's network (RFC 7871) is believed.",
        ),
        Key::new(
            "cookies",
            Kind::Flag,
            Fallback::Is(Value::Flag(true)),
            "Who sends a cookie gets one back (RFC 7873), and is not limited while it shows that.",
        ),
        Key::new(
            "connections",
            Kind::count(1, 65_535),
            Fallback::count(256),
            "TCP connections at a time; one client may have a quarter of them.",
        ),
        Key::new(
            "idle",
            Kind::time(100, 600_000),
            Fallback::millis(10_000),
            "A TCP connection without a whole query, or that does not take its answers, ends after so long.",
        ),
    ],
};

/// `[zone.NAME]`.
pub static ZONE: Table = Table {
    what: "a zone",
    choices: &[],
    keys: &[
        Key::new(
            "nameservers",
            Kind::Texts { form: Form::Domain, unset: None },
            Fallback::Required,
            "Names of the machines that answer for the zone, as the zone above delegates it; the first one stands in SOA.",
        ),
        Key::new(
            "contact",
            Kind::Text { form: Form::Visible, unset: None },
            Fallback::Derived("`hostmaster` at the zone"),
            "Mail address of who is responsible, for SOA.",
        ),
        Key::new(
            "ttl",
            Kind::time(0, 604_800_000),
            Fallback::millis(5_000),
            "How long resolvers keep an answer, in whole seconds.",
        ),
        Key::new(
            "negative-ttl",
            Kind::time(0, 86_400_000),
            Fallback::millis(5_000),
            "How long they keep that there is none (RFC 2308), in whole seconds.",
        ),
        Key::new(
            "text",
            Kind::Lines { form: Form::Visible, most: 16 },
            Fallback::Absent,
            "TXT records of the zone's own name, one a string of at most 255 bytes.",
        ),
    ],
};

/// `[name.NAME]`.
pub static NAME: Table = Table {
    what: "a name",
    choices: &[&["pool"], &["services"], &["addresses"], &["cname"]],
    keys: &[
        Key::new(
            "pool",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Absent,
            "Answers with the addresses of this pool's servers, each with its weight and state.",
        ),
        Key::new(
            "services",
            Kind::Texts { form: Form::Name, unset: None },
            Fallback::Absent,
            "Answers with the addresses that these services listen on; one is up while a server of its pool takes work.",
        ),
        Key::new(
            "addresses",
            Kind::List { table: &ADDRESS, short: Short::Key("address"), most: ADDRESSES },
            Fallback::Absent,
            "Answers with these addresses; nobody judges them.",
        ),
        Key::new(
            "cname",
            Kind::Text { form: Form::Domain, unset: None },
            Fallback::Absent,
            "It is another name for this one.",
        ),
        Key::new(
            "policy",
            Kind::Words(&[
                Word::of("round-robin"),
                Word::of("weighted"),
                Word::of("nearest"),
                Word::of("sticky"),
                Word::of("failover"),
            ]),
            Fallback::word("round-robin"),
            "Which comes first in an answer: each in turn; in proportion to weights; one that the client's network prefers \
             (`near`); the same for a network; the first that is up.",
        ),
        Key::new(
            "near",
            Kind::List { table: &NEAR, short: Short::None, most: REGIONS },
            Fallback::Absent,
            "For `nearest`: which networks prefer which. The longest network counts.",
        ),
        Key::new(
            "answers",
            Kind::count(1, 32),
            Fallback::count(1),
            "Addresses in one answer at most.",
        ),
        Key::new(
            "ttl",
            Kind::time(0, 604_800_000),
            Fallback::Derived("`ttl` of its zone"),
            "How long resolvers keep an answer, in whole seconds.",
        ),
        Key::new(
            "fallback",
            Kind::Words(&[Word::of("all"), Word::of("none")]),
            Fallback::word("all"),
            "While none is up, and there is no `last-resort`: all as if they were up, or no address.",
        ),
        Key::new("last-resort", Kind::Addresses, Fallback::Absent, "While none is up: these."),
        Key::new(
            "srv",
            Kind::Texts { form: Form::Domain, unset: None },
            Fallback::Absent,
            "SRV records below the name, such as `_http._tcp`, and a name of its own below it for each target.",
        ),
        Key::new(
            "https",
            Kind::WordList(&[Word::of("h3"), Word::of("h2"), Word::of("http/1.1")]),
            Fallback::Absent,
            "An HTTPS record with these protocols (RFC 9460).",
        ),
        Key::new(
            "mask4",
            Kind::count(1, 32),
            Fallback::count(24),
            "For `sticky`: bits of an IPv4 client that count.",
        ),
        Key::new(
            "mask6",
            Kind::count(1, 128),
            Fallback::count(56),
            "For `sticky`: bits of an IPv6 client that count.",
        ),
    ],
};

static ADDRESS: Table = Table {
    what: "an address",
    choices: &[],
    keys: &[
        Key::new(
            "address",
            Kind::Addresses,
            Fallback::Required,
            "An address, or several of one site.",
        ),
        Key::new(
            "name",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Derived("`a1`, `a2`, … by its position"),
            "Its name, for `near` and where it is told of.",
        ),
        Key::new(
            "weight",
            Kind::count(0, 256),
            Fallback::count(1),
            "Its weight; 0: it takes none.",
        ),
    ],
};

static NEAR: Table = Table {
    what: "a region",
    choices: &[],
    keys: &[
        Key::new("client", Kind::Prefixes, Fallback::Required, "Networks of clients."),
        Key::new(
            "prefer",
            Kind::Texts { form: Form::Name, unset: None },
            Fallback::Required,
            "Servers, services or addresses by name: by their weights while one is up, the others otherwise.",
        ),
    ],
};
