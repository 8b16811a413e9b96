//! Describes `[uplinks]` and `[uplink.NAME]`: several gateways out of this machine's network, used side by side.

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};

/// Uplinks that one file may hold.
pub const UPLINKS: usize = 8;

/// Targets of one uplink.
pub const TARGETS: usize = 16;

/// Routing tables of the kernel: those below belong to the system by custom.
const TABLES: u64 = 256;

/// `[uplinks]`.
pub static UPLINKS_TABLE: Table = Table {
    what: "the uplinks table",
    choices: &[],
    keys: &[
        Key::new(
            "inside",
            Kind::Texts { form: Form::Interface, unset: None },
            Fallback::Absent,
            "Interfaces by which packets come in that this machine forwards: their connections are shared among the \
             uplinks too.",
        ),
        Key::new(
            "translate",
            Kind::Words(&[Word::of("ipv4"), Word::of("both"), Word::of("off")]),
            Fallback::word("ipv4"),
            "Which forwarded connections have the uplink's own address as their source; `off`: somebody else sees to \
             that, or the addresses are known beyond every uplink.",
        ),
        Key::new(
            "mark-bit",
            Kind::count(0, 27),
            Fallback::count(24),
            "The lowest of five bits of a packet's mark that say which uplink it takes; nobody else may use them.",
        ),
        Key::new(
            "table",
            Kind::count(TABLES, 4_000_000_000),
            Fallback::count(7_800),
            "The routing table of all uplinks together; those of the single ones follow it. Nobody else may use them.",
        ),
        Key::new(
            "rule",
            Kind::count(1, 32_000),
            Fallback::count(30_000),
            "The priority of the first of five kinds of routing rules; rules of others before it come first.",
        ),
    ],
};

/// `[uplink.NAME]`.
pub static UPLINK: Table = Table {
    what: "an uplink",
    choices: &[],
    keys: &[
        Key::new(
            "interface",
            Kind::Text { form: Form::Interface, unset: None },
            Fallback::Required,
            "Where it begins. Several uplinks may share one.",
        ),
        Key::new(
            "via",
            Kind::Addresses,
            Fallback::Required,
            "Its gateway, in a network of the interface: one address, or one of each family.",
        ),
        Key::new(
            "source",
            Kind::Addresses,
            Fallback::Derived("the interface's address in the gateway's network"),
            "What leaves by it has this address of this machine: one, or one of each family.",
        ),
        Key::new(
            "weight",
            Kind::count(0, 256),
            Fallback::count(1),
            "Its share of new connections among those of the same priority; 0 takes none.",
        ),
        Key::new(
            "priority",
            Kind::count(1, 9),
            Fallback::count(1),
            "Its rank: new connections go to the lowest number of which one is up.",
        ),
        Key::new(
            "probe",
            Kind::Table { table: &PROBE, short: Short::None, unset: Some("off") },
            Fallback::Inner,
            "What is asked through it to learn whether it leads anywhere. `off`: the carrier alone says so.",
        ),
    ],
};

/// `probe`.
pub static PROBE: Table = Table {
    what: "an uplink's probe",
    choices: &[],
    keys: &[
        Key::new(
            "echo",
            Kind::Addresses,
            Fallback::Absent,
            "Targets beyond the gateway that are asked by ICMP echo. A family without a target asks its gateway, which \
             says nothing of what lies beyond.",
        ),
        Key::new(
            "connect",
            Kind::Listen,
            Fallback::Absent,
            "Targets beyond it that are asked by a TCP connection, addresses with ports; a refusal is an answer.",
        ),
        Key::new(
            "need",
            Kind::count(1, TARGETS as u64),
            Fallback::count(1),
            "So many targets of a family must answer; all of them where there are fewer.",
        ),
        Key::new(
            "every",
            Kind::time(20, 600_000),
            Fallback::millis(1_000),
            "Between two questions to a target.",
        ),
        Key::new(
            "timeout",
            Kind::time(20, 60_000),
            Fallback::millis(1_000),
            "An answer that takes longer is none.",
        ),
        Key::new(
            "rise",
            Kind::count(1, 100),
            Fallback::count(2),
            "Answers in a row after which a target counts as reached again.",
        ),
        Key::new(
            "fall",
            Kind::count(1, 100),
            Fallback::count(3),
            "Questions in a row without an answer after which it does not.",
        ),
    ],
};
