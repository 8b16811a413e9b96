//! A report as text, whole and in part, against stored files.

use api::types::{
    CauseCount, Connections, Descriptors, ErrorCounts, FloodClient, HeaderRemoval, MemberChange,
    MemberReport, NamedCount, PacketDisposition, PacketOutcome, PacketServer, PacketService,
    PacketsReport, PeerReport, ReplicationStatus, Requests, Statuses,
};
use model::snapshot::ServerState;

use super::*;
use crate::expect::{expect, fits};

fn counter(total: u64, rate: f64) -> Counter {
    Counter { total, rate }
}

fn cause(cause: &str, side: Side, total: u64) -> CauseCount {
    CauseCount { cause: cause.into(), side, count: counter(total, 0.5) }
}

fn phases() -> Vec<PhaseTimes> {
    let phase = |phase: &str, count, us: Option<u64>| PhaseTimes {
        phase: phase.into(),
        count,
        mean_us: us,
        p50_us: us,
        p90_us: us.map(|us| us * 2),
        p99_us: us.map(|us| us * 9),
        histogram: Vec::new(),
    };
    vec![
        phase("queue", 0, None),
        phase("connect", 12, Some(180)),
        phase("first-byte", 24_690, Some(1_300)),
        phase("transfer", 24_690, Some(40)),
        phase("total", 24_690, Some(1_500)),
    ]
}

fn counts() -> ServiceCounts {
    ServiceCounts {
        connections: Connections::new(
            counter(5_100, 10.0),
            counter(4, 0.0),
            counter(5_000, 9.5),
            100,
        ),
        requests: Requests::new(
            counter(1_234_567, 12_345.0),
            counter(1_234_502, 12_344.0),
            counter(31, 0.5),
            counter(20, 0.5),
            counter(2, 0.0),
            12,
        ),
        errors: ErrorCounts {
            ended: counter(1_234_553, 12_345.0),
            errors: counter(544, 4.5),
            balancer: counter(20, 0.5),
            server_5xx: counter(500, 4.0),
            server: counter(20, 0.0),
            network: counter(4, 0.0),
            client: counter(3, 0.0),
            percent: Some(0.04),
        },
        statuses: Statuses {
            success: counter(1_234_000, 12_340.0),
            server_error: counter(500, 4.0),
            ..Statuses::default()
        },
        retried: counter(9, 0.0),
        replayed: counter(3, 0.0),
        bytes: Bytes {
            received: counter(123_456_789, 1_234_567.0),
            sent: counter(9_876_543_210, 98_765_432.0),
            spliced: counter(8_000_000_000, 80_000_000.0),
        },
        causes: vec![
            cause("bad-request", Side::Client, 11),
            cause("no-server", Side::Balancer, 20),
            cause("server-reset", Side::Server, 20),
            cause("connect-timeout", Side::Network, 4),
        ],
        defects: vec![NamedCount { name: "length-and-chunked".into(), count: counter(11, 0.0) }],
        tls: Vec::new(),
        bodies: Vec::new(),
        limits: vec![NamedCount { name: "log-lines-dropped".into(), count: counter(7, 0.0) }],
        phases: phases(),
    }
}

fn server(name: &str) -> ServerReport {
    let none = counter(0, 0.0);
    ServerReport {
        name: name.into(),
        state: ServerState::Up,
        in_flight: 6,
        connections: 64,
        connects: counter(70, 0.0),
        connect_failed: counter(2, 0.0),
        requests: counter(617_283, 6_172.0),
        answered: counter(617_250, 6_171.0),
        reused: counter(617_213, 6_172.0),
        stale: counter(3, 0.0),
        retired: none,
        errors: ErrorCounts {
            ended: counter(617_750, 6_175.0),
            errors: counter(500, 4.0),
            server_5xx: counter(500, 4.0),
            percent: Some(1.5),
            ..ErrorCounts::default()
        },
        statuses: Statuses { server_error: counter(500, 4.0), ..Statuses::default() },
        bytes: Bytes {
            received: counter(4_938_271_605, 0.0),
            sent: counter(61_728_394, 0.0),
            spliced: none,
        },
        causes: vec![cause("server-reset", Side::Server, 10)],
        phases: phases(),
    }
}

fn sample() -> Report {
    let port = |source: Option<&str>, destination: &str, in_use, left| PortReport {
        source: source.map(|source| source.parse().unwrap()),
        destination: destination.parse().unwrap(),
        in_use,
        time_wait: in_use / 2,
        free: left,
    };
    Report {
        packets: None,
        names: Vec::new(),
        members: Vec::new(),
        peers: Vec::new(),
        generation: 7,
        now_unix_ms: 1_772_283_909_000,
        uptime_ms: 18_120_000,
        interval_ms: 2_000,
        total: counts(),
        services: vec![
            ServiceReport {
                name: "shop".into(),
                forward: "http".into(),
                counts: counts(),
                rules: Vec::new(),
                affinity: None,
                slo: None,
            },
            ServiceReport {
                name: "mail".into(),
                forward: "tcp".into(),
                counts: ServiceCounts::default(),
                rules: Vec::new(),
                affinity: None,
                slo: None,
            },
        ],
        pools: vec![PoolReport {
            name: "web".into(),
            counts: Vec::new(),
            errors: ErrorCounts::default(),
            servers: vec![server("a"), server("b")],
        }],
        headroom: Vec::new(),
        ports: vec![
            port(None, "10.0.0.11:8080", 64, 28_168),
            port(Some("10.0.0.2"), "10.0.0.12:8080", 1, 28_231),
        ],
        process: Process {
            descriptors: Descriptors { in_use: 230, limit: 1_048_576 },
            resident_bytes: 14_000_000,
            buffered_bytes: 150_000,
            piped_bytes: 262_144,
            kernel_tcp_bytes: 3_000_000,
            log_lines_dropped: counter(7, 0.0),
        },
    }
}

#[test]
fn everything_is_readable_and_the_remainder_stands_there() {
    let text = render(&sample(), None, 100, Paint::fixed(false));
    expect("report.txt", &text);
    fits(&text, 110);
}

#[test]
fn one_service_or_one_pool_is_shown_alone() {
    for name in ["shop", "web"] {
        let report = select(sample(), Some(name)).unwrap();
        expect(
            &format!("report-{name}.txt"),
            &render(&report, Some(name), 100, Paint::fixed(false)),
        );
    }
    let error = select(sample(), Some("x")).unwrap_err();
    assert_eq!(error.to_string(), "no service or pool is called 'x'; there are: shop, mail, web");
}

#[test]
fn a_remainder_is_coloured() {
    let text = render(&sample(), None, 100, Paint::fixed(true));
    assert!(text.contains("\x1b[31m2\x1b[0m"), "{text}");
}

fn outcome(
    name: &str,
    end: PacketDisposition,
    total: u64,
    v6: u64,
    meaning: &str,
) -> PacketOutcome {
    PacketOutcome {
        name: name.into(),
        disposition: end,
        meaning: meaning.into(),
        count: counter(total, total as f64 / 100.0),
        v4: total - v6,
        v6,
        other: 0,
    }
}

fn forwarded() -> PacketsReport {
    let sent =
        outcome("forwarded", PacketDisposition::Forwarded, 90_000, 9_000, "Sent on to a server.");
    let denied = outcome(
        "denied",
        PacketDisposition::Dropped,
        120,
        0,
        "Dropped: the client is on the deny list.",
    );
    let own = outcome(
        "not-ours",
        PacketDisposition::Host,
        77,
        70,
        "Handed to this host: not for a service.",
    );
    let server = |name: &str, flows, outcomes: Vec<PacketOutcome>| PacketServer {
        name: name.into(),
        flows,
        connections: counter(4_500, 45.0),
        bytes_in: counter(7_200_000, 72_000.0),
        outcomes,
        ..PacketServer::default()
    };
    let shop = PacketService {
        name: "shop".into(),
        forward: "mac".into(),
        flows: 40,
        half_open: 1_200,
        alarm: true,
        sampled_syns: 64,
        flood_clients: vec![FloodClient { address: "203.0.113.7".into(), syns: 41 }],
        flood_networks: vec![FloodClient { address: "203.0.113.0/24".into(), syns: 60 }],
        outcomes: vec![sent.clone(), denied.clone()],
        removals: vec![HeaderRemoval { field: "sack".into(), count: counter(4_400, 44.0) }],
        servers: vec![server("web/a", 30, vec![sent.clone()]), server("web/b", 10, vec![])],
    };
    PacketsReport {
        received: counter(90_199, 901.97),
        accounted: counter(90_197, 901.97),
        unaccounted: 2,
        outcomes: vec![sent, denied, own],
        evicted: counter(3, 0.0),
        services: vec![shop],
        ..PacketsReport::default()
    }
}

#[test]
fn packets_are_shown_by_service_server_and_version_and_sum_up() {
    let report = Report { packets: Some(forwarded()), ..sample() };
    let text = render(&report, None, 100, Paint::fixed(false));
    let (_, packets) = text.split_once("\nPACKETS ").unwrap();
    let (packets, _) = packets.split_once("\nSOURCE PORTS").unwrap();
    expect("report-packets.txt", packets);
    let mail = select(report, Some("mail")).unwrap();
    assert!(mail.packets.unwrap().services.is_empty());
}

#[test]
fn what_members_counted_and_why_they_changed_is_shown() {
    let counts = |rows: &[(&str, u64)]| {
        rows.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    let change = |seconds: u64, state: &str, reason: &str| MemberChange {
        at_unix_ms: sample().now_unix_ms - seconds * 1_000,
        state: state.into(),
        reason: reason.into(),
    };
    let member = MemberReport {
        group: "front".into(),
        counts: counts(&[("announcements", 5), ("became-active", 1), ("gave-up", 0)]),
        dropped: counts(&[("checksum", 2)]),
        changes: vec![
            change(90, "standby", "it has just begun"),
            change(60, "active", "nobody was heard"),
        ],
    };
    let peer = PeerReport {
        peer: "right".into(),
        heartbeats: counts(&[("sent", 12_000), ("received", 11_990), ("not-sent", 0)]),
        refused: counts(&[("replayed", 1)]),
        replication: Some(ReplicationStatus {
            state: "following".into(),
            counts: counts(&[("sent", 45_000), ("applied", 20), ("resynchronised", 13)]),
            refused: counts(&[]),
            rejected: counts(&[("unknown-server", 4)]),
            unsent: counts(&[]),
        }),
    };
    let report = Report { members: vec![member], peers: vec![peer], ..sample() };
    let text = render(&report, None, 100, Paint::fixed(false));
    let (_, shared) = text.split_once("\nSHARED BY GROUP").unwrap();
    let (shared, _) = shared.split_once("\nSOURCE PORTS").unwrap();
    expect("report-shared.txt", shared);
}
