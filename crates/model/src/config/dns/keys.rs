//! Describes `[names]`, `[zone.NAME]` and `[name.NAME]`: the authoritative DNS server for services and servers.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

/// Limit for the zones of one file.
pub const ZONES: usize = 1_000;

/// Limit for the names of one file.
pub const NAMES: usize = 10_000;

/// Limit for the client networks in the regions of all names together.
pub const REGIONS: usize = 10_000;

/// Limit for the addresses that all names list directly.
pub const ADDRESSES: usize = 65_536;

/// Limit for one string of a TXT record, bytes (RFC 1035 §3.3).
pub const STRING: usize = 255;

pub static SERVER: TableSchema = TableSchema {
    description: "the table of the name server",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "listen",
            ValueKind::Listen,
            DefaultValue::Absent,
            "Where DNS queries are answered, over UDP and TCP. Each address is listed by itself. None: names are \
             not served.",
        ),
        KeySchema::new(
            "threads",
            ValueKind::count(1, 64),
            DefaultValue::count(1),
            "Threads that answer over UDP, each with its own socket at every address. A change needs a restart.",
        ),
        // From what every resolver accepts (RFC 1035 §4.2.1) to the size that RFC 6891 §6.2.5 suggests to start with.
        // 1,232 bytes fit the least MTU of IPv6, 1,280 bytes with 48 bytes of headers.
        KeySchema::new(
            "udp-size",
            ValueKind::size(512, 4_096),
            DefaultValue::Literal(ConfigValue::Size(1_232)),
            "Largest answer over UDP, and the UDP size that is announced (RFC 6891 §6.2.5).",
        ),
        KeySchema::new(
            "rate",
            ValueKind::count_or_keyword(1, 10_000_000, "off"),
            DefaultValue::count(500),
            "Response rate limit: answers of one kind a second to one client network (IPv4 /24, IPv6 /56) over UDP \
             without a cookie. `off`: no limit.",
        ),
        // The range of BIND's `slip`, without 0.
        KeySchema::new(
            "slip",
            ValueKind::count_or_keyword(1, 10, "off"),
            DefaultValue::count(1),
            "Above the rate, one query in this many gets a truncated answer, so that the resolver comes over TCP. \
             The others get no answer. The answer is no longer than the query. `off`: no query gets one.",
        ),
        KeySchema::new(
            "client-subnet",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "Use the client network that a resolver sends (EDNS client subnet, RFC 7871).",
        ),
        KeySchema::new(
            "cookies",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "DNS cookies (RFC 7873): a client that returns its cookie is not rate-limited.",
        ),
        KeySchema::new(
            "connections",
            ValueKind::count(1, 65_535),
            DefaultValue::count(256),
            "TCP connections at a time. One client may have a quarter of them.",
        ),
        // RFC 7766 §6.2.3 recommends an idle time in the order of seconds.
        KeySchema::new(
            "idle",
            ValueKind::time(100, 600_000),
            DefaultValue::millis(10_000),
            "A TCP connection without a complete query, or that does not read its answers, is closed after this \
             time.",
        ),
    ],
};

pub static ZONE: TableSchema = TableSchema {
    description: "a zone",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "nameservers",
            ValueKind::Texts { form: TextFormat::Domain, unset: None },
            DefaultValue::Required,
            "Name servers of the zone, as in the delegation of the parent zone. The first one is in the SOA record.",
        ),
        KeySchema::new(
            "contact",
            ValueKind::Text { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Derived("`hostmaster` at the zone"),
            "Mail address of the person responsible, for the SOA record.",
        ),
        // Short, so that clients soon leave a server that went down. A week is longer than changing addresses allow.
        KeySchema::new(
            "ttl",
            ValueKind::time(0, 604_800_000),
            DefaultValue::millis(5_000),
            "How long resolvers cache an answer, in whole seconds.",
        ),
        KeySchema::new(
            "negative-ttl",
            ValueKind::time(0, 86_400_000),
            DefaultValue::millis(5_000),
            "How long resolvers cache a negative answer (RFC 2308), in whole seconds.",
        ),
        KeySchema::new(
            "txt",
            ValueKind::Lines { form: TextFormat::VisibleText, most: 16 },
            DefaultValue::Absent,
            "TXT records of the zone's own name, each a string of at most 255 bytes.",
        )
        .formerly(&["text"]),
    ],
};

pub static NAME: TableSchema = TableSchema {
    description: "a name",
    exclusive_groups: &[&["pool"], &["services"], &["addresses"], &["cname"]],
    keys: &[
        KeySchema::new(
            "pool",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Absent,
            "Answers with the addresses of this pool's servers, each with its weight and state.",
        ),
        KeySchema::new(
            "services",
            ValueKind::Texts { form: TextFormat::Name, unset: None },
            DefaultValue::Absent,
            "Answers with the addresses that these services listen on. An address is up while a server of the \
             service's pool takes requests.",
        ),
        KeySchema::new(
            "addresses",
            ValueKind::List {
                table: &ADDRESS,
                short: TableShorthand::Key("address"),
                most: ADDRESSES,
            },
            DefaultValue::Absent,
            "Answers with these addresses, which have no health check.",
        ),
        KeySchema::new(
            "cname",
            ValueKind::Text { form: TextFormat::Domain, unset: None },
            DefaultValue::Absent,
            "CNAME: the name is an alias of this one.",
        ),
        KeySchema::new(
            "policy",
            ValueKind::Keyword(&[
                Keyword::new("round-robin"),
                Keyword::new("weighted"),
                Keyword::new("nearest"),
                Keyword::new("sticky"),
                Keyword::new("failover"),
            ]),
            DefaultValue::keyword("round-robin"),
            "Which address comes first in an answer. `round-robin`: each in turn. `weighted`: in proportion to \
             weights. `nearest`: one that the client's network prefers (`near`). `sticky`: the same for a client's \
             network. `failover`: the first that is up.",
        ),
        KeySchema::new(
            "near",
            ValueKind::List { table: &NEAR, short: TableShorthand::None, most: REGIONS },
            DefaultValue::Absent,
            "For `nearest`: client networks and the candidates they prefer. The longest matching network decides.",
        ),
        // 32 records of AAAA have 896 bytes and fit the default `udp-size`.
        KeySchema::new(
            "answers",
            ValueKind::count(1, 32),
            DefaultValue::count(1),
            "Limit of addresses in one answer.",
        ),
        // Bounded like the `ttl` of a zone.
        KeySchema::new(
            "ttl",
            ValueKind::time(0, 604_800_000),
            DefaultValue::Derived("`ttl` of its zone"),
            "How long resolvers cache an answer, in whole seconds.",
        ),
        KeySchema::new(
            "fallback",
            ValueKind::Keyword(&[Keyword::new("all"), Keyword::new("none")]),
            DefaultValue::keyword("all"),
            "While no candidate is up, and without `last-resort`: `all` as if they were up, or no address (`none`).",
        ),
        KeySchema::new(
            "last-resort",
            ValueKind::Addresses,
            DefaultValue::Absent,
            "Addresses to answer with while no candidate is up.",
        ),
        KeySchema::new(
            "srv",
            ValueKind::Texts { form: TextFormat::Domain, unset: None },
            DefaultValue::Absent,
            "SRV records below the name, such as `_http._tcp`, with a name below it for each target.",
        ),
        KeySchema::new(
            "https",
            ValueKind::KeywordList(&[
                Keyword::new("h3"),
                Keyword::new("h2"),
                Keyword::new("http/1.1"),
            ]),
            DefaultValue::Absent,
            "An HTTPS record with these protocols (RFC 9460).",
        ),
        // The prefixes that RFC 7871 §11.1 recommends to resolvers: /24, and /56 of IPv6.
        KeySchema::new(
            "mask4",
            ValueKind::count(1, 32),
            DefaultValue::count(24),
            "For `sticky`: bits of an IPv4 client that count.",
        ),
        // The prefix that RFC 7871 §11.1 recommends: /56.
        KeySchema::new(
            "mask6",
            ValueKind::count(1, 128),
            DefaultValue::count(56),
            "For `sticky`: bits of an IPv6 client that count.",
        ),
    ],
};

static ADDRESS: TableSchema = TableSchema {
    description: "an address",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "address",
            ValueKind::Addresses,
            DefaultValue::Required,
            "An address, or several of one site.",
        ),
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Derived("`a1`, `a2`, … by its position"),
            "Its name, for `near`, status and metrics.",
        ),
        // The range of weights of servers.
        KeySchema::new(
            "weight",
            ValueKind::count(0, 256),
            DefaultValue::count(1),
            "Its weight; 0: it is never chosen.",
        ),
    ],
};

static NEAR: TableSchema = TableSchema {
    description: "a region",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "client",
            ValueKind::Prefixes,
            DefaultValue::Required,
            "Networks of clients.",
        ),
        KeySchema::new(
            "prefer",
            ValueKind::Texts { form: TextFormat::Name, unset: None },
            DefaultValue::Required,
            "Preferred servers, services or addresses by name, chosen by weight while one is up. Otherwise the \
             others are used.",
        ),
    ],
};
