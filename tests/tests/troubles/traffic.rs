//! Requests that fail, by who makes them fail.

use std::time::Duration;

use lab::origin::OriginFault;

use crate::stage::{PLAIN, TroubleRow};

/// Both servers have a fault until it is over.
macro_rules! both_servers {
    ($name:literal, $fault:expr, $shows:literal) => {
        TroubleRow {
            name: $name,
            plant: |stage| stage.set_fault(&[0, 1], Some($fault)),
            shows: $shows,
            heal: |stage| stage.set_fault(&[0, 1], None),
            ..PLAIN
        }
    };
}

pub const ROWS: &[TroubleRow] = &[
    both_servers!("all 500", OriginFault::Status(500), "100.0 % errors"),
    both_servers!("all 503", OriginFault::Status(503), "5xx of servers"),
    both_servers!("servers close", OriginFault::CloseBeforeAnswer, "failed servers"),
    both_servers!("servers reset", OriginFault::ResetBeforeAnswer, "failed servers"),
    both_servers!("half answers", OriginFault::CloseMidAnswer, "failed servers"),
    both_servers!("garbage", OriginFault::Garbage, "failed servers"),
    TroubleRow {
        name: "silent servers",
        setup: |setup| setup.pool("timeout.first-byte = \"100ms\"\nretries = 0"),
        plant: |stage| stage.set_fault(&[0, 1], Some(OriginFault::Silence)),
        shows: "failed servers",
        heal: |stage| stage.set_fault(&[0, 1], None),
        ..PLAIN
    },
    TroubleRow {
        name: "one in fifteen 500",
        plant: |stage| stage.send("/status/500", Duration::from_millis(150)),
        shows: "service shop",
        heal: |stage| stage.stop_extra_requests(),
        ..PLAIN
    },
    TroubleRow {
        name: "one server 500",
        plant: |stage| stage.set_fault(&[1], Some(OriginFault::Status(500))),
        shows: "server web/b",
        heal: |stage| stage.set_fault(&[1], None),
        ..PLAIN
    },
    TroubleRow {
        name: "one server resets",
        setup: |setup| setup.pool("retries = 0"),
        plant: |stage| stage.set_fault(&[1], Some(OriginFault::ResetBeforeAnswer)),
        shows: "server web/b",
        heal: |stage| stage.set_fault(&[1], None),
        ..PLAIN
    },
    TroubleRow {
        name: "one server sends garbage",
        setup: |setup| setup.pool("retries = 0"),
        plant: |stage| stage.set_fault(&[0], Some(OriginFault::Garbage)),
        shows: "server web/a",
        heal: |stage| stage.set_fault(&[0], None),
        ..PLAIN
    },
    TroubleRow {
        name: "one server sends half answers",
        plant: |stage| stage.set_fault(&[0], Some(OriginFault::CloseMidAnswer)),
        shows: "server web/a",
        heal: |stage| stage.set_fault(&[0], None),
        ..PLAIN
    },
    TroubleRow {
        name: "connections nearly out",
        setup: |setup| setup.service("limit.connections = 20\nlimit.connections-per-client = 20\n"),
        plant: |stage| {
            (0..17).for_each(|_| stage.send("/delay/1000", Duration::from_millis(1)));
        },
        shows: "are in use",
        heal: |stage| stage.stop_extra_requests(),
        ..PLAIN
    },
];
