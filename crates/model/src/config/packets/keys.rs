//! Describes `[packets]`, and the keys of a service that forwards packets.

use std::borrow::Cow;

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

/// One day, in milliseconds: the bound of the times here.
const DAY: u64 = 86_400_000;

pub static PACKETS: TableSchema = TableSchema {
    description: "the packets table",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "interfaces",
            ValueKind::Texts { form: TextFormat::Interface, unset: Some("auto") },
            DefaultValue::unset("auto"),
            "Interfaces that receive packets; `auto`: where services' and return addresses are, and where servers are \
             reached.",
        ),
        KeySchema::new(
            "mode",
            ValueKind::Keyword(&[
                Keyword::new("auto"),
                Keyword::new("native"),
                Keyword::new("generic"),
            ]),
            DefaultValue::keyword("auto"),
            "XDP mode: `native` in the driver, `generic` in the network stack, `auto`: native where possible, else \
             generic.",
        ),
        KeySchema::new(
            "flows",
            ValueKind::count(1_024, 67_108_864),
            DefaultValue::count(1_048_576),
            "Size of the connection tables, for direct server return and for `nat` each. Memory is allocated at once, \
             about 40 bytes for each flow of the first and 136 for each of the second, up to twice that because of \
             rounding up to a power of two; a change creates new tables.",
        ),
        KeySchema::new(
            "fragments",
            ValueKind::count(64, 1_048_576),
            DefaultValue::count(8_192),
            "First fragments in the table, so that later ones follow; about 64 bytes each.",
        ),
        KeySchema::new(
            "flow-samples",
            ValueKind::count_or_keyword(1, 1_000_000, "off"),
            DefaultValue::count(64),
            "Sampling for `explain slow`: one connection in this many is watched (handshake, retransmissions, closed \
             windows, resets); `off`: none.",
        ).formerly(&["insight"]),
        KeySchema::new(
            "pin-path",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed("/sys/fs/bpf/steelyard"))),
            "Directory of a BPF file system where programs and tables outlive the process. It belongs to one daemon \
             at a time: daemons in several network namespaces need one each.",
        ).formerly(&["pins"]),
        KeySchema::new(
            "nat-source",
            ValueKind::Addresses,
            DefaultValue::Literal(ConfigValue::Addresses(Vec::new())),
            "Return addresses of `nat`: addresses of this machine, used by nothing else, from which servers see \
             clients. For pools that set no `source`.",
        ).formerly(&["return"]),
    ],
};

pub const PROTOCOL: KeySchema = KeySchema::new(
    "protocol",
    ValueKind::KeywordList(&[Keyword::new("tcp"), Keyword::new("udp")]),
    DefaultValue::Literal(ConfigValue::Keywords(Cow::Borrowed(&["tcp"]))),
    "Protocols that it forwards: `\"tcp\"`, `\"udp\"`, or a list of both.",
)
.packets_only();

/// Half a minute outlasts late retransmissions of the last segments; a longer time would hold the ports of `nat`.
pub const FIN_TIMEOUT: KeySchema = KeySchema::new(
    "fin-timeout",
    ValueKind::time(1_000, DAY),
    DefaultValue::millis(30_000),
    "How long a closed connection stays in the table; its port towards the server is free after that.",
)
.packets_only();

/// RFC 5382 REQ-5.
pub const STALE_TIMEOUT: KeySchema = KeySchema::new(
    "idle-timeout",
    ValueKind::time(1_000, 365 * DAY),
    DefaultValue::millis(7_440_000),
    "Idle timeout of an open connection (RFC 5382: at least two hours and four minutes). Later packets are dropped by \
     `nat`, and sent to a server by a hash of the connection by `mac` and `tunnel`. When the table is full, the \
     longest idle connections are removed sooner. Set it longer than servers keep idle connections.",
)
.formerly(&["stale-timeout"])
.packets_only();

/// Timeout before the handshake is complete.
pub const EMBRYONIC: KeySchema = KeySchema::new(
    "half-open",
    ValueKind::time(1_000, DAY),
    DefaultValue::millis(30_000),
    "Timeout of a connection before its handshake is complete.",
)
.formerly(&["embryonic"])
.packets_only();

/// Timeout after one end has closed.
pub const HALF_CLOSED: KeySchema = KeySchema::new(
    "half-closed",
    ValueKind::time(1_000, 7 * DAY),
    DefaultValue::millis(300_000),
    "Timeout of a connection after one end has closed.",
)
.packets_only();

/// Two minutes, the least that RFC 4787 REQ-5 allows.
pub const UDP: KeySchema = KeySchema::new(
    "udp",
    ValueKind::time(1_000, 7 * DAY),
    DefaultValue::millis(120_000),
    "Idle timeout of a UDP flow.",
)
.packets_only();

/// ICMP queries create no flows.
pub const ICMP: KeySchema = KeySchema::refused(
    "icmp",
    "ICMP queries are answered by this machine itself, and ICMP errors follow the connection that they are about",
);

/// The encapsulation of packets.
pub const TUNNEL: KeySchema = KeySchema::new(
    "tunnel",
    ValueKind::Table { table: &TUNNEL_TABLE, short: TableShorthand::Key("kind"), unset: None },
    DefaultValue::Inner,
    "How packets reach servers across routers (`forward = \"tunnel\"`). Short form: the kind.",
)
.packets_only();

/// From the kernel's TCP_MIN_MSS to the longest IPv4 packet less 40 bytes of headers.
pub const MSS_CLAMP: KeySchema = KeySchema::new(
    "mss-clamp",
    ValueKind::count_or_keyword(88, 65_495, "off"),
    DefaultValue::unset("off"),
    "Upper limit of the segment size (MSS) in SYN packets (`forward = \"nat\"`).",
)
.packets_only();

/// The scope of replication to the other member of a pair.
pub const REPLICATE: KeySchema = KeySchema::new(
    "replicate",
    ValueKind::Keyword(&[Keyword::new("both"), Keyword::new("flows"), Keyword::new("affinity"), Keyword::new("none")]),
    DefaultValue::keyword("both"),
    "What is replicated to the peer of a heartbeat, so that it survives a failover: connections (`flows`), sticky \
     sessions (`affinity`). For services at virtual addresses.",
)
.packets_only();

/// Access control and rate limits of clients.
pub const GUARD: KeySchema = KeySchema::new(
    "guard",
    ValueKind::table(&GUARD_TABLE),
    DefaultValue::Inner,
    "Access lists, rate limits, connection limits, bans and SYN cookies.",
)
.packets_only();

static TUNNEL_TABLE: TableSchema = TableSchema {
    description: "a tunnel",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "kind",
            ValueKind::Keyword(&[Keyword::new("ipip"), Keyword::new("gre"), Keyword::new("gue")]),
            DefaultValue::keyword("ipip"),
            "An IP header (RFC 2003, RFC 2473), a GRE header as well (RFC 2784), or IP and UDP whose source port \
             differs by flow.",
        ),
        // IANA's port of GUE.
        KeySchema::new(
            "port",
            ValueKind::count(1, 65_535),
            DefaultValue::count(6_080),
            "`gue`: UDP port of the servers.",
        ),
        KeySchema::new(
            "source",
            ValueKind::Addresses,
            DefaultValue::Literal(ConfigValue::Addresses(Vec::new())),
            "Outer source address, one a family; none: the address of the interface towards the server.",
        ),
    ],
};

static GUARD_TABLE: TableSchema = TableSchema {
    description: "a guard",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "allow",
            ValueKind::Prefixes,
            DefaultValue::Literal(ConfigValue::Prefixes(Vec::new())),
            "Only clients of these networks; none: all.",
        ),
        KeySchema::new(
            "deny",
            ValueKind::Prefixes,
            DefaultValue::Literal(ConfigValue::Prefixes(Vec::new())),
            "No clients of these networks; if both lists contain a client, the longer prefix decides.",
        ),
        KeySchema::new(
            "ban",
            ValueKind::time_or_keyword(1_000, DAY, "off"),
            DefaultValue::unset("off"),
            "Ban: how long all packets of a client above a `source` limit are dropped.",
        ),
        KeySchema::new(
            "half-open",
            ValueKind::count_or_keyword(1, 100_000_000, "off"),
            DefaultValue::unset("off"),
            "Half-open connections that raise the alarm. Above it `mac` and `tunnel` accept new connections only as \
             fast as half-open ones end.",
        ),
        KeySchema::new(
            "syn-cookies",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "`nat`: above `half-open` clients are answered with SYN cookies, and servers see only clients that answer.",
        ),
        CONNECTIONS,
        SYN_RATE,
        RST_RATE,
        BANDWIDTH,
        KeySchema::new(
            "source",
            ValueKind::table(&SOURCE_TABLE),
            DefaultValue::Inner,
            "The same limits for each client: an IPv4 address, or an IPv6 /64.",
        ),
    ],
};

static SOURCE_TABLE: TableSchema = TableSchema {
    description: "limits of a client",
    exclusive_groups: &[],
    keys: &[CONNECTIONS, SYN_RATE, RST_RATE, BANDWIDTH],
};

/// Here and below, 100 million is a bound against mistakes; 0 is what `deny` is for.
const CONNECTIONS: KeySchema = KeySchema::new(
    "connections",
    ValueKind::count_or_keyword(1, 100_000_000, "off"),
    DefaultValue::unset("off"),
    "Connections at a time.",
);

const SYN_RATE: KeySchema = KeySchema::new(
    "syn-rate",
    ValueKind::count_or_keyword(1, 100_000_000, "off"),
    DefaultValue::unset("off"),
    "Connection requests a second.",
);

const RST_RATE: KeySchema = KeySchema::new(
    "rst-rate",
    ValueKind::count_or_keyword(1, 100_000_000, "off"),
    DefaultValue::unset("off"),
    "Resets a second.",
);

/// From a kilobyte a second to 10 Tbit/s, more than the interfaces of one machine carry.
const BANDWIDTH: KeySchema = KeySchema::new(
    "bandwidth",
    ValueKind::Rate { min: 8_000, max: 10_000_000_000_000, unset: Some("off") },
    DefaultValue::unset("off"),
    "Bandwidth from clients.",
);
