//! A status as text, whole and in part, against stored files.

use api::types::{
    AlarmSeverity, Counter, ErrorCounts, FlowSampleStatus, Neighbour, PacketInterface,
    PacketsStatus, Source, StandingAlarm,
};
use model::config::AdminState;

use super::*;
use crate::expect::{expect, fits};

const NOW: u64 = 1_772_283_909_000;

fn server(name: &str, state: ServerState, age_ms: u64, reason: &str) -> ServerStatus {
    ServerStatus {
        name: name.into(),
        address: "10.0.0.11:8080".into(),
        resolved: Some("10.0.0.11:8080".parse().unwrap()),
        state,
        admin: AdminState::Enabled,
        weight: 1,
        configured_weight: 1,
        since_unix_ms: NOW - age_ms,
        reason: Evidence {
            source: Source::Probe,
            text: reason.into(),
            at_unix_ms: NOW - 100,
            check: None,
        },
        in_flight: 12,
        connections: 40,
        max_connections: None,
        errors: ErrorCounts::default(),
        assumed: false,
        sticky_clients: None,
        maintenance: None,
    }
}

fn errors(ended: u64, rate: f64) -> ErrorCounts {
    let counter = |total, rate| Counter { total, rate };
    let counts = ErrorCounts {
        ended: counter(ended, 30.0),
        errors: counter(7, rate),
        server_5xx: counter(7, rate),
        ..ErrorCounts::default()
    };
    counts.with_percent()
}

fn service(name: &str, pool: &str, state: ServiceState, reason: &str) -> ServiceStatus {
    ServiceStatus {
        name: name.into(),
        forward: "http".into(),
        listen: vec!["203.0.113.10:80".to_owned()],
        pool: pool.into(),
        state,
        reason: reason.into(),
        since_unix_ms: NOW - 192_000,
        open: 1234,
        in_flight: 17,
        errors: errors(200, 3.0),
        certificates: Vec::new(),
        objectives: Vec::new(),
    }
}

fn alarms() -> Vec<StandingAlarm> {
    let rows = [
        (AlarmSeverity::Error, "service mail", "down: no server is available", Some(192_000)),
        (AlarmSeverity::Error, "service shop", "10.0 % errors, 3.0/s over 12 s", Some(9_000)),
        (AlarmSeverity::Warning, "server web/a", "its state changed 4 times", None),
        (AlarmSeverity::Notice, "server web/d", "drain: drain ordered by uid 0", Some(61_000)),
    ];
    let alarm = |(severity, subject, reason, age_ms): (_, &str, &str, Option<u64>)| StandingAlarm {
        name: "state".into(),
        severity,
        subject: subject.into(),
        reason: reason.into(),
        since_unix_ms: age_ms.map(|age| NOW - age),
    };
    rows.map(alarm).into()
}

const REFUSED: &str = "http GET /healthz: connection refused, 3 times in a row since 12:04:05";

fn draining() -> Draining {
    Draining {
        subject: "service old on 203.0.113.9:80".into(),
        reason: "removed by generation 7".into(),
        since_unix_ms: NOW - 4_000,
        until_unix_ms: Some(NOW + 26_000),
        connections: 3,
        in_flight: 1,
    }
}

pub(super) fn sample() -> Status {
    let mut named =
        server("c", ServerState::Down, 3_000, "the name does not resolve: no such host");
    named.address = "app.internal:8080".into();
    named.resolved = None;
    let mut moved = server("d", ServerState::Drain, 61_000, "drain ordered by uid 0");
    moved.address = "localhost:8080".into();
    moved.weight = 3;
    moved.configured_weight = 1;
    moved.max_connections = Some(100);
    let mut v6 = service("mail", "mx", ServiceState::Down, "no server is available");
    v6.listen.push("[2001:db8::10]:80".to_owned());
    v6.forward = "tcp".into();
    let up = server("a", ServerState::Up, 192_000, "http GET /healthz 200 in 1 ms");
    Status {
        packets: None,
        vrrp: Vec::new(),
        heartbeats: Vec::new(),
        links: Vec::new(),
        uplinks: None,
        mptcp: None,
        names: None,
        pins: Vec::new(),
        version: "0.1.0".into(),
        generation: 7,
        now_unix_ms: NOW,
        since_unix_ms: NOW - 18_120_000,
        uptime_ms: 18_120_000,
        pid: 4242,
        workers: 2,
        alarms: alarms(),
        more_alarms: 3,
        error_interval_ms: 12_000,
        services: vec![
            service("shop", "web", ServiceState::Degraded, "1 of 4 servers are available"),
            v6,
        ],
        pools: vec![
            PoolStatus {
                name: "web".into(),
                balance: "least-request".into(),
                errors: errors(250, 0.5),
                servers: vec![up, server("b", ServerState::Down, 12_000, REFUSED), named, moved],
                waiting: 0,
                shedding_since_unix_ms: None,
                circuit_breakers: vec![],
            },
            PoolStatus {
                name: "mx".into(),
                balance: "round-robin".into(),
                errors: ErrorCounts::default(),
                servers: vec![],
                waiting: 0,
                shedding_since_unix_ms: None,
                circuit_breakers: vec![],
            },
        ],
        draining: vec![draining()],
        drift: None,
        warnings: vec![
            "source ports towards 10.0.0.11:8080 are running out: 512 of 28,232 are left".into(),
        ],
    }
}

#[test]
fn everything_is_readable_in_a_hundred_columns() {
    let text = render(&sample(), 100, Paint::fixed(false));
    fits(&text, 100);
    expect("status.txt", &text);
}

#[test]
fn a_narrow_screen_puts_reasons_below() {
    expect("status-narrow.txt", &render(&sample(), 70, Paint::fixed(false)));
}

#[test]
fn state_words_are_coloured_and_nothing_else_of_their_lines() {
    let text = render(&sample(), 100, Paint::fixed(true));
    for part in [
        "\x1b[32mup\x1b[0m 3m12s: http",
        "\x1b[31mdown\x1b[0m 12s:",
        "\x1b[33mdegraded\x1b[0m 3m12s:",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn a_name_selects_a_service_with_its_pool_or_a_pool_with_its_services() {
    for (name, services, pools) in
        [("shop", vec!["shop"], vec!["web"]), ("web", vec!["shop"], vec!["web"])]
    {
        let status = select(sample(), Some(name)).unwrap();
        assert_eq!(
            status.services.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            services
        );
        assert_eq!(status.pools.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), pools);
    }
    let error = select(sample(), Some("shpo")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no service or pool is called 'shpo'; there are: shop, mail, web, mx"
    );
}

fn plane() -> PacketsStatus {
    let interface = |name: &str, mode: Option<&str>, problem: Option<&str>| PacketInterface {
        name: name.into(),
        mode: mode.map(str::to_owned),
        problem: problem.map(str::to_owned),
    };
    let hop = |address: &str, state: &str, reason: Option<&str>, server: &str| Neighbour {
        address: address.parse().unwrap(),
        state: state.into(),
        reason: reason.map(str::to_owned),
        servers: vec![server.into()],
    };
    PacketsStatus {
        problem: None,
        generation: 7,
        restored: true,
        memory_bytes: 67_108_864,
        flow_samples: FlowSampleStatus {
            one_in: Some(64),
            watched: 1_207,
            full: 3,
            ..Default::default()
        },
        interfaces: vec![
            interface("eth0", Some("native"), None),
            interface("eth7", None, Some("there is no interface `eth7`")),
        ],
        neighbours: vec![
            hop("10.0.0.11", "ok", None, "web/a"),
            hop("10.0.9.9", "no-interface", Some("no route to 10.0.9.9"), "web/b"),
        ],
    }
}

#[test]
fn the_packet_plane_is_shown_with_what_it_lacks() {
    let status = Status { packets: Some(plane()), ..sample() };
    let text = render(&status, 100, Paint::fixed(false));
    fits(&text, 100);
    expect("status-packets.txt", &text);
    let broken = PacketsStatus { problem: Some("loading needs CAP_BPF".into()), ..plane() };
    let text = render(&Status { packets: Some(broken), ..sample() }, 100, Paint::fixed(false));
    assert!(text.contains("packet plane: nothing is forwarded: loading needs CAP_BPF\n"), "{text}");
}
