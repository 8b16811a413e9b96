//! Snapshots for tests of the screen. Tests only.

use api::types::{
    CauseCount, Counter, Descriptors, ErrorCounts, Evidence, PhaseTimes, PoolReport, PoolStatus,
    Process, Report, ServerReport, ServerStatus, ServiceCounts, ServiceReport, ServiceState,
    ServiceStatus, Source, Status,
};
use model::cause::Side;
use model::config::AdminState;
use model::snapshot::ServerState;

use super::snapshot::TopSnapshot;

const NOW: u64 = 1_772_283_909_000;

/// A service `shop` before a pool `web` of these servers, each with its requests a second.
pub fn snapshot(servers: &[(&str, f64)]) -> TopSnapshot {
    let up = !servers.is_empty();
    let service = ServiceStatus {
        name: "shop".into(),
        forward: "http".into(),
        listen: vec!["203.0.113.10:80".into()],
        pool: "web".into(),
        state: if up { ServiceState::Up } else { ServiceState::Down },
        reason: if up { "all servers are available" } else { "no server is available" }.into(),
        since_unix_ms: NOW - 192_000,
        open: 40,
        in_flight: 3,
        errors: ErrorCounts::default(),
        certificates: Vec::new(),
        objectives: Vec::new(),
    };
    let pool = PoolStatus {
        name: "web".into(),
        balance: "least-request".into(),
        errors: ErrorCounts::default(),
        waiting: 0,
        shedding_since_unix_ms: None,
        circuit_breakers: Vec::new(),
        servers: servers.iter().map(|(name, _)| status(name)).collect(),
    };
    TopSnapshot {
        status: Status {
            version: "0.1.0".into(),
            generation: 7,
            now_unix_ms: NOW,
            since_unix_ms: NOW - 18_120_000,
            uptime_ms: 18_120_000,
            pid: 4242,
            workers: 2,
            alarms: Vec::new(),
            more_alarms: 0,
            error_interval_ms: 12_000,
            services: vec![service],
            pools: vec![pool],
            draining: Vec::new(),
            packets: None,
            vrrp: Vec::new(),
            heartbeats: Vec::new(),
            links: Vec::new(),
            uplinks: None,
            mptcp: None,
            names: None,
            pins: Vec::new(),
            drift: None,
            warnings: Vec::new(),
        },
        report: report(servers),
    }
}

fn status(name: &str) -> ServerStatus {
    ServerStatus {
        name: name.into(),
        address: "10.0.0.11:8080".into(),
        resolved: None,
        state: ServerState::Up,
        admin: AdminState::Enabled,
        weight: 1,
        configured_weight: 1,
        since_unix_ms: NOW - 61_000,
        reason: Evidence {
            source: Source::Probe,
            text: "http GET /healthz 200\nin 1 ms".into(),
            at_unix_ms: NOW,
            check: None,
        },
        in_flight: 1,
        connections: 4,
        max_connections: None,
        errors: ErrorCounts::default(),
        assumed: false,
        sticky_clients: None,
        maintenance: None,
    }
}

fn report(servers: &[(&str, f64)]) -> Report {
    let rate: f64 = servers.iter().map(|(_, rate)| rate).sum();
    let mut counts = ServiceCounts::default();
    counts.requests.requests = Counter { total: 1234, rate };
    counts.causes = vec![CauseCount {
        cause: "server-refused".into(),
        side: Side::Server,
        count: Counter { total: 5, rate: 0.5 },
    }];
    counts.errors = ErrorCounts {
        ended: Counter { total: 1234, rate },
        errors: Counter { total: 5, rate: 0.5 },
        server: Counter { total: 5, rate: 0.5 },
        ..ErrorCounts::default()
    }
    .with_percent();
    counts.phases = vec![PhaseTimes {
        phase: "total".into(),
        count: 10,
        mean_us: Some(900),
        p50_us: Some(850),
        p90_us: Some(1000),
        p99_us: Some(1200),
        histogram: Vec::new(),
    }];
    Report {
        generation: 7,
        now_unix_ms: NOW,
        uptime_ms: 18_120_000,
        interval_ms: 1000,
        total: counts.clone(),
        services: vec![ServiceReport {
            name: "shop".into(),
            forward: "http".into(),
            counts,
            rules: Vec::new(),
            affinity: None,
            slo: None,
        }],
        pools: vec![PoolReport {
            name: "web".into(),
            counts: Vec::new(),
            errors: ErrorCounts::default(),
            servers: servers.iter().map(|(name, rate)| counted(name, *rate)).collect(),
        }],
        ports: Vec::new(),
        headroom: Vec::new(),
        process: Process {
            descriptors: Descriptors { in_use: 12, limit: 1024 },
            ..Process::default()
        },
        packets: None,
        names: Vec::new(),
        members: Vec::new(),
        peers: Vec::new(),
    }
}

fn counted(name: &str, rate: f64) -> ServerReport {
    ServerReport {
        name: name.into(),
        state: ServerState::Up,
        in_flight: 1,
        connections: 4,
        connects: Counter::default(),
        connect_failed: Counter::default(),
        requests: Counter { total: 600, rate },
        answered: Counter::default(),
        reused: Counter::default(),
        stale: Counter::default(),
        retired: Counter::default(),
        errors: ErrorCounts::default(),
        statuses: api::types::Statuses::default(),
        bytes: api::types::Bytes::default(),
        causes: Vec::new(),
        phases: Vec::new(),
    }
}
