//! Describes `[packets]`, and the keys of a service that forwards packets.

use std::borrow::Cow;

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};
use super::super::value::Value;

const DAY: u64 = 86_400_000;

/// `[packets]`.
pub static PACKETS: Table = Table {
    what: "the packets table",
    choices: &[],
    keys: &[
        Key::new(
            "interfaces",
            Kind::Texts { form: Form::Interface, unset: Some("auto") },
            Fallback::unset("auto"),
            "Where packets are taken; `auto`: where services' and return addresses are, and where servers are reached.",
        ),
        Key::new(
            "mode",
            Kind::Words(&[Word::of("auto"), Word::of("native"), Word::of("generic")]),
            Fallback::word("auto"),
            "In the driver, in the kernel's generic hook, or the first where it can and else the second.",
        ),
        Key::new(
            "flows",
            Kind::count(1_024, 67_108_864),
            Fallback::count(1_048_576),
            "Flows that fit at a time, for direct return and for `nat` each. Memory is taken at once, about 40 bytes for \
             each of the first and 132 for each of the second, up to twice that where it is rounded up to a power of \
             two; changing it makes the tables anew.",
        ),
        Key::new(
            "fragments",
            Kind::count(64, 1_048_576),
            Fallback::count(8_192),
            "First fragments that are remembered so that later ones follow; about 64 bytes each.",
        ),
        Key::new(
            "insight",
            Kind::count_or(1, 1_000_000, "off"),
            Fallback::count(64),
            "One connection in so many is watched for `explain slow`: its handshake, what is sent again, windows that \
             stand closed, resets; `off`: none.",
        ),
        Key::new(
            "pins",
            Kind::Text { form: Form::File, unset: None },
            Fallback::Is(Value::Text(Cow::Borrowed("/sys/fs/bpf/steelyard"))),
            "Directory of a BPF file system where programs and tables outlive the process. One daemon's at a time: those in \
             several network namespaces need one each.",
        ),
        Key::new(
            "return",
            Kind::Addresses,
            Fallback::Is(Value::Addresses(Vec::new())),
            "Return addresses of `nat`: addresses of this machine, used by nothing else, from which servers see \
             clients. For pools that set no `source`.",
        ),
    ],
};

/// Of which protocols.
pub const PROTOCOL: Key = Key::new(
    "protocol",
    Kind::WordList(&[Word::of("tcp"), Word::of("udp")]),
    Fallback::Is(Value::Words(Cow::Borrowed(&["tcp"]))),
    "Which packets it takes: `\"tcp\"`, `\"udp\"`, or a list of both.",
)
.packets();

/// Closing.
pub const FIN_TIMEOUT: Key = Key::new(
    "fin-timeout",
    Kind::time(1_000, DAY),
    Fallback::millis(30_000),
    "How long a closed connection is remembered; its port towards the server is free after that.",
)
.packets();

/// Idle.
pub const STALE_TIMEOUT: Key = Key::new(
    "stale-timeout",
    Kind::time(1_000, 365 * DAY),
    Fallback::millis(7_440_000),
    "An open connection without a packet is forgotten after this (RFC 5382 says two hours and four minutes at least); what \
     comes later is discarded by `nat`, and chosen anew by a hash of the connection by `mac` and `tunnel`. Where room is \
     short the longest idle give way sooner. Longer than servers keep idle connections.",
)
.packets();

/// Before the handshake is complete.
pub const EMBRYONIC: Key = Key::new(
    "embryonic",
    Kind::time(1_000, DAY),
    Fallback::millis(30_000),
    "A connection before its handshake is complete.",
)
.packets();

/// After one end has closed.
pub const HALF_CLOSED: Key = Key::new(
    "half-closed",
    Kind::time(1_000, 7 * DAY),
    Fallback::millis(300_000),
    "A connection after one end has closed.",
)
.packets();

/// UDP.
pub const UDP: Key = Key::new(
    "udp",
    Kind::time(1_000, 7 * DAY),
    Fallback::millis(120_000),
    "A UDP flow without a packet.",
)
.packets();

/// ICMP queries make no flows.
pub const ICMP: Key = Key::refused(
    "icmp",
    "ICMP queries are answered by this machine itself, and ICMP errors follow the connection that they are about",
);

/// What is put around packets.
pub const TUNNEL: Key = Key::new(
    "tunnel",
    Kind::Table { table: &TUNNEL_TABLE, short: Short::Key("kind"), unset: None },
    Fallback::Inner,
    "How packets reach servers across routers (`forward = \"tunnel\"`). Short form: the kind.",
)
.packets();

/// Segment size.
pub const MSS_CLAMP: Key = Key::new(
    "mss-clamp",
    Kind::count_or(88, 65_495, "off"),
    Fallback::unset("off"),
    "The largest segment size that client and server are told (`forward = \"nat\"`).",
)
.packets();

/// What another machine is told.
pub const REPLICATE: Key = Key::new(
    "replicate",
    Kind::Words(&[Word::of("both"), Word::of("flows"), Word::of("affinity"), Word::of("none")]),
    Fallback::word("both"),
    "What the other machine of a heartbeat is told, so that a takeover keeps it: connections (`flows`), who sticks to \
     which server (`affinity`). For services at shared addresses.",
)
.packets();

/// Whom and how much.
pub const GUARD: Key = Key::new(
    "guard",
    Kind::table(&GUARD_TABLE),
    Fallback::Inner,
    "Whom the service takes, and how much.",
)
.packets();

static TUNNEL_TABLE: Table = Table {
    what: "a tunnel",
    choices: &[],
    keys: &[
        Key::new(
            "kind",
            Kind::Words(&[Word::of("ipip"), Word::of("gre"), Word::of("gue")]),
            Fallback::word("ipip"),
            "An IP header (RFC 2003, RFC 2473), a GRE header as well (RFC 2784), or IP and UDP whose source port \
             differs by flow.",
        ),
        Key::new(
            "port",
            Kind::count(1, 65_535),
            Fallback::count(6_080),
            "`gue`: UDP port of the servers.",
        ),
        Key::new(
            "source",
            Kind::Addresses,
            Fallback::Is(Value::Addresses(Vec::new())),
            "Outer source address, one a family; none: the address of the interface towards the server.",
        ),
    ],
};

static GUARD_TABLE: Table = Table {
    what: "a guard",
    choices: &[],
    keys: &[
        Key::new(
            "allow",
            Kind::Prefixes,
            Fallback::Is(Value::Prefixes(Vec::new())),
            "Only clients of these networks; none written: all.",
        ),
        Key::new(
            "deny",
            Kind::Prefixes,
            Fallback::Is(Value::Prefixes(Vec::new())),
            "No clients of these networks; where both lists hold a client the longer prefix decides.",
        ),
        Key::new(
            "ban",
            Kind::time_or(1_000, DAY, "off"),
            Fallback::unset("off"),
            "How long a client that went above a `source` limit is refused, with all its packets.",
        ),
        Key::new(
            "half-open",
            Kind::count_or(1, 100_000_000, "off"),
            Fallback::unset("off"),
            "Connections without a complete handshake from which on the alarm stands. Beyond it `mac` and `tunnel` take \
             new ones only as fast as half-open ones end.",
        ),
        Key::new(
            "syn-cookies",
            Kind::Flag,
            Fallback::Is(Value::Flag(false)),
            "`nat`: from `half-open` on clients are answered with SYN cookies, and servers see only those that answer.",
        ),
        CONNECTIONS,
        SYN_RATE,
        RST_RATE,
        BANDWIDTH,
        Key::new(
            "source",
            Kind::table(&SOURCE_TABLE),
            Fallback::Inner,
            "The same limits for each client: an IPv4 address, or a network of IPv6 with 64 bits.",
        ),
    ],
};

static SOURCE_TABLE: Table = Table {
    what: "limits of a client",
    choices: &[],
    keys: &[CONNECTIONS, SYN_RATE, RST_RATE, BANDWIDTH],
};

const CONNECTIONS: Key = Key::new(
    "connections",
    Kind::count_or(1, 100_000_000, "off"),
    Fallback::unset("off"),
    "Flows at a time.",
);

const SYN_RATE: Key = Key::new(
    "syn-rate",
    Kind::count_or(1, 100_000_000, "off"),
    Fallback::unset("off"),
    "Connection requests a second.",
);

const RST_RATE: Key = Key::new(
    "rst-rate",
    Kind::count_or(1, 100_000_000, "off"),
    Fallback::unset("off"),
    "Resets a second.",
);

const BANDWIDTH: Key = Key::new(
    "bandwidth",
    Kind::Rate { min: 8_000, max: 10_000_000_000_000, unset: Some("off") },
    Fallback::unset("off"),
    "What clients may send.",
);
