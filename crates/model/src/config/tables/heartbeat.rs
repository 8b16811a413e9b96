//! Describes `[heartbeat.PEER]`: what two members tell each other beside VRRP, by several paths.

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table};

/// Members that one file may name.
pub const PEERS: usize = 1;

/// Paths of a heartbeat.
pub const PATHS: usize = 8;

/// Targets of a heartbeat.
pub const TARGETS: usize = 16;

/// `[heartbeat.PEER]`.
pub static HEARTBEAT: Table = Table {
    what: "a heartbeat",
    choices: &[],
    keys: &[
        Key::new(
            "name",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Required,
            "The name of this member, by which the table of the other one is called.",
        ),
        Key::new(
            "secret",
            Kind::Text { form: Form::File, unset: None },
            Fallback::Required,
            "The file of keys, the same on both members: lines `ID SECRET`, the first signs, a second is accepted too. Only \
             the daemon's user may read it. It is read again when it changes.",
        ),
        Key::new(
            "paths",
            Kind::List { table: &PATH, short: Short::None, most: PEERS * PATHS },
            Fallback::Required,
            "The ways between both members, one to eight, best over different links. The other member counts as dead when \
             all of them are silent.",
        ),
        Key::new(
            "port",
            Kind::count(1, 65_535),
            Fallback::count(7_694),
            "Port of UDP, the same on both members.",
        ),
        Key::new(
            "every",
            Kind::time(10, 10_000),
            Fallback::Derived("the shortest `advertise` of the groups; `1s` without groups"),
            "Between two beats on each path.",
        ),
        Key::new(
            "timeout",
            Kind::time(20, 120_000),
            Fallback::Derived("three times `every`"),
            "A path by which nothing comes for so long is down.",
        ),
        Key::new(
            "reach",
            Kind::Table { table: &REACH, short: Short::Key("echo"), unset: None },
            Fallback::Absent,
            "Targets that both members ask; whoever reaches more becomes active. Equal numbers move nothing.",
        ),
        Key::new(
            "witness",
            Kind::Table { table: &WITNESS, short: Short::Key("http"), unset: None },
            Fallback::Absent,
            "A third machine, for addresses that must never be at both members: an active member needs its agreement or the \
             other member's. The same on both.",
        ),
    ],
};

/// A path of `paths`.
pub static PATH: Table = Table {
    what: "a path of a heartbeat",
    choices: &[],
    keys: &[
        Key::new(
            "local",
            Kind::Addresses,
            Fallback::Required,
            "Our address, one, which is no shared one.",
        ),
        Key::new("peer", Kind::Addresses, Fallback::Required, "The other member's address, one."),
        Key::new(
            "interface",
            Kind::Text { form: Form::Interface, unset: None },
            Fallback::Derived("as the kernel routes"),
            "Beats of this path go and come by this interface alone.",
        ),
    ],
};

/// `witness`.
pub static WITNESS: Table = Table {
    what: "a heartbeat's witness",
    choices: &[],
    keys: &[
        Key::new(
            "http",
            Kind::Text { form: Form::Visible, unset: None },
            Fallback::Absent,
            "Where leases are asked for: another steelyard's API, `https://HOST:9443/v1/leases`, or a server that does the same.",
        ),
        Key::new(
            "etcd",
            Kind::Texts { form: Form::Visible, unset: None },
            Fallback::Absent,
            "Or the members of an etcd, one to nine: `http://HOST:2379`.",
        ),
        Key::new(
            "lease",
            Kind::time(500, 30_000),
            Fallback::millis(3_000),
            "For how long both agree at a time: when a member is gone, so long passes before the other one takes over. etcd \
             counts whole seconds.",
        ),
        Key::new(
            "token",
            Kind::Text { form: Form::File, unset: None },
            Fallback::Absent,
            "The file of the token that is shown there; for steelyard one with the role `lease`. Only the daemon's user may \
             read it.",
        ),
        Key::new(
            "ca",
            Kind::Text { form: Form::File, unset: Some("system") },
            Fallback::unset("system"),
            "PEM file of who may have signed its certificate; `system`: whom this machine trusts.",
        ),
    ],
};

/// `reach`.
pub static REACH: Table = Table {
    what: "a heartbeat's reach",
    choices: &[],
    keys: &[
        Key::new(
            "echo",
            Kind::Addresses,
            Fallback::Absent,
            "Targets that are asked by ICMP echo, such as the router.",
        ),
        Key::new(
            "connect",
            Kind::Listen,
            Fallback::Absent,
            "Targets that are asked by a TCP connection, addresses with ports.",
        ),
        Key::new(
            "every",
            Kind::time(50, 60_000),
            Fallback::millis(1_000),
            "Between two questions.",
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
            "Answers in a row after which a target is reached again.",
        ),
        Key::new(
            "fall",
            Kind::count(1, 100),
            Fallback::count(3),
            "Questions in a row without an answer after which it is not.",
        ),
        Key::new(
            "settle",
            Kind::time(0, 600_000),
            Fallback::millis(3_000),
            "The other member must have reached more, or not more any longer, for so long before anything follows.",
        ),
    ],
};
