//! Sums, rates and states of synthetic counters and snapshots. No worker runs.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use api::types::{Report, ServiceState, Source};
use model::cause::Cause;
use model::config::AdminState;
use model::snapshot::{ServerState, WorkerSnapshot};
use model::stats::{ServiceCounters, ServiceStats};
use proptest::prelude::*;

use super::fixture;
use super::report_sources::ProcessFacts;
use super::sample::{CounterSample, SampleHistory};
use super::status::build_status;
use crate::state::evidence::EvidenceEntry;
use crate::state::{OperatorOverride, ResolvedAddress, StateSnapshot};

const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"

[service.mail]
listen = "127.0.0.1:2525"
forward = "tcp"
pool = "web"

[pool.web]
servers = [
  { name = "a", address = "127.0.0.1:1001" },
  { name = "b", address = "127.0.0.1:1002", weight = 3 },
]
"#;

fn live(snapshot: &StateSnapshot, service: &str) -> Arc<ServiceStats> {
    snapshot
        .snapshot
        .services
        .values()
        .find(|view| view.config.name == service)
        .unwrap()
        .stats
        .clone()
}

fn between(snapshot: &WorkerSnapshot, act: impl FnOnce()) -> Report {
    let begin = Instant::now();
    let before = CounterSample::read(snapshot, 0, begin, None);
    act();
    let now = CounterSample::read(snapshot, 3, begin + Duration::from_secs(2), Some(&before));
    super::build_report(snapshot, &before, &now, &ProcessFacts::default(), SystemTime::now())
}

// Rows: I48
#[test]
fn rates_cover_the_interval_and_totals_everything() {
    let snapshot = fixture::state_snapshot(TEXT, 2);
    let shop = live(&snapshot, "shop");
    shop.slots[0].counters.requests.add(100);
    shop.slots[0].phases.total.record(Duration::from_secs(5));
    let report = between(&snapshot.snapshot, || {
        shop.slots[0].counters.requests.add(10);
        shop.slots[1].counters.requests.add(30);
        shop.slots[1].causes[Cause::ClientReset as usize].add(4);
        shop.slots[1].counters.log_dropped.add(2);
        shop.slots[1].phases.total.record(Duration::from_micros(100));
    });
    assert_eq!(report.interval_ms, 2000);
    let names: Vec<_> = report.services.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(names, ["mail", "shop"]);
    let counts = &report.services[1].counts;
    assert_eq!((counts.requests.requests.total, counts.requests.requests.rate), (140, 20.0));
    assert_eq!((counts.causes.len(), counts.causes[0].cause.as_str()), (1, "client-reset"));
    let total = counts.phases.iter().find(|phase| phase.phase == "total").unwrap();
    assert_eq!(
        (total.count, total.mean_us, total.p99_us),
        (1, Some(100), Some(112)),
        "not the one from before"
    );
    assert_eq!(report.total.requests, counts.requests);
    assert_eq!(report.total.phases, counts.phases);
    // Two by the queue, three by the target.
    assert_eq!(report.process.log_lines_dropped.total, 5);
}

#[test]
fn a_server_that_moved_is_read_again_and_one_that_did_not_shares_its_sums() {
    let snapshot = fixture::state_snapshot(TEXT, 1);
    let pool = snapshot.snapshot.pools.values().next().unwrap();
    let a = &pool.servers[0];
    let b = &pool.servers[1];
    let before = CounterSample::read(&snapshot.snapshot, 0, Instant::now(), None);
    a.stats.slots[0].counters.requests.add(1);
    let now = CounterSample::read(&snapshot.snapshot, 0, Instant::now(), Some(&before));
    assert!(!Arc::ptr_eq(&before.servers[&a.id], &now.servers[&a.id]));
    assert!(Arc::ptr_eq(&before.servers[&b.id], &now.servers[&b.id]));
    assert_eq!(now.servers[&a.id].counters.requests.get(), 1);
}

#[test]
fn the_older_of_two_samples_is_the_base() {
    let samples = SampleHistory::default();
    assert!(samples.older().is_none());
    let snapshot = fixture::state_snapshot(TEXT, 1);
    let all: Vec<_> = (0..3)
        .map(|_| Arc::new(CounterSample::read(&snapshot.snapshot, 0, Instant::now(), None)))
        .collect();
    samples.push(all[0].clone());
    assert!(Arc::ptr_eq(&samples.older().unwrap(), &all[0]));
    samples.push(all[1].clone());
    samples.push(all[2].clone());
    assert!(Arc::ptr_eq(&samples.older().unwrap(), &all[1]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The sums match for any counts on any workers; missing counts are reported as unaccounted.
    #[test]
    fn sums_add_up_and_what_is_missing_is_unaccounted(
        ends in prop::collection::vec((0usize..2, 0usize..3, 0usize..4), 0..200),
        under_way in 0u32..5,
        missing in 0u64..5,
    ) {
        let snapshot = fixture::state_snapshot(TEXT, 3);
        let services = [live(&snapshot, "mail"), live(&snapshot, "shop")];
        for (service, worker, end) in &ends {
            let counters = &services[*service].slots[*worker].counters;
            counters.requests.add(1);
            counters.accepted.add(1);
            counters.closed.add(1);
            let ends: [fn(&ServiceCounters) -> &model::stats::Count; 4] =
                [|c| &c.answered, |c| &c.answered_by_us, |c| &c.aborted, |c| &c.answered];
            ends[*end](counters).add(1);
            // An upgrade, which ends like any other request.
            counters.upgraded.add(u64::from(*end == 3));
        }
        for _ in 0..under_way {
            services[0].slots[0].counters.requests.add(1);
            services[0].slots[0].counters.accepted.add(1);
            services[0].in_flight.increment();
            services[0].open_connections.increment();
        }
        services[1].slots[2].counters.requests.add(missing);
        services[1].slots[1].counters.closed.add(missing);
        let report = between(&snapshot.snapshot, || {});
        let requests = report.total.requests;
        prop_assert_eq!(requests.requests.total, ends.len() as u64 + u64::from(under_way) + missing);
        prop_assert_eq!(requests.unaccounted, missing as i64);
        prop_assert_eq!(report.total.connections.unaccounted, -(missing as i64));
        prop_assert_eq!(report.services[0].counts.requests.unaccounted, 0);
        let parts: u64 = report.services.iter().map(|service| service.counts.requests.requests.total).sum();
        prop_assert_eq!(parts, requests.requests.total);
    }
}

fn state(snapshot: &StateSnapshot) -> (ServiceState, String) {
    let status = build_status(snapshot, &ProcessFacts::default(), |_| None, SystemTime::now());
    let shop = status.services.iter().find(|service| service.name == "shop").unwrap();
    (shop.state, shop.reason.clone())
}

// Rows: Z07
#[test]
fn a_service_is_what_its_servers_make_of_it() {
    let mut snapshot = fixture::state_snapshot(TEXT, 1);
    assert_eq!(state(&snapshot), (ServiceState::Up, "all 2 servers are available".into()));
    let down = |facts: &mut crate::state::ServerFacts| {
        facts.state = ServerState::Down;
        facts.reason = "connection refused".into();
    };
    fixture::change(&mut snapshot, "a", down);
    assert_eq!(state(&snapshot), (ServiceState::Degraded, "1 of 2 servers are available".into()));
    fixture::change(&mut snapshot, "b", |facts| facts.state = ServerState::Unknown);
    assert_eq!(state(&snapshot).0, ServiceState::Degraded);
    fixture::change(&mut snapshot, "b", down);
    let (now, why) = state(&snapshot);
    assert_eq!(
        (now, why.as_str()),
        (ServiceState::Down, "no server is available; of a: connection refused")
    );
    fixture::change(&mut snapshot, "b", |facts| facts.state = ServerState::Drain);
    fixture::change(&mut snapshot, "a", |facts| facts.state = ServerState::Up);
    assert_eq!(
        state(&snapshot),
        (ServiceState::Up, "its server is available".into()),
        "who was drained is not missed"
    );
    snapshot.listeners.remove(&"127.0.0.1:8080".parse().unwrap());
    assert_eq!(state(&snapshot), (ServiceState::Down, "not listening on 127.0.0.1:8080".into()));
    snapshot.shutting_down = true;
    assert_eq!(state(&snapshot).0, ServiceState::Draining);
}

// Rows: Z07
#[test]
fn each_state_has_the_evidence_that_decided_it() {
    let mut snapshot = fixture::state_snapshot(TEXT, 1);
    let shown = |snapshot: &StateSnapshot, note: Option<EvidenceEntry>| {
        let status =
            build_status(snapshot, &ProcessFacts::default(), |_| note.clone(), SystemTime::now());
        let server = status.pools[0].servers[0].clone();
        (server.reason.source, server.reason.text)
    };
    let note = EvidenceEntry {
        probe: Some("http GET / at 10.0.0.1:80".into()),
        saw: "http GET / 200".into(),
        took: Some(Duration::from_micros(1_040)),
        good: true,
        in_a_row: 7,
        at: SystemTime::now(),
    };
    let whole = build_status(
        &snapshot,
        &ProcessFacts::default(),
        |_| Some(note.clone()),
        SystemTime::now(),
    );
    let server = &whole.pools[0].servers[0];
    let seen = server.reason.check.as_ref().unwrap();
    assert_eq!(seen.probe.as_deref(), Some("http GET / at 10.0.0.1:80"));
    assert_eq!((seen.result.as_str(), seen.duration_us), ("http GET / 200", Some(1_040)));
    assert_eq!((seen.passed, seen.consecutive, server.assumed), (true, 7, false));
    assert_eq!(shown(&snapshot, None).0, Source::Configuration);
    assert_eq!(shown(&snapshot, Some(note.clone())), (Source::Probe, note.describe()));
    let passive = EvidenceEntry { probe: None, ..note.clone() };
    assert_eq!(shown(&snapshot, Some(passive)).0, Source::Traffic);
    fixture::change(&mut snapshot, "a", |facts| {
        facts.resolved = ResolvedAddress::Failed("'a' does not resolve".into());
        facts.reason = "'a' does not resolve".into();
    });
    assert_eq!(
        shown(&snapshot, Some(note.clone())),
        (Source::Resolver, "'a' does not resolve".into())
    );
    let by = snapshot.origin.clone();
    fixture::change(&mut snapshot, "a", |facts| {
        let word = OperatorOverride {
            value: AdminState::Drain,
            file_value: AdminState::Enabled,
            by,
            at: SystemTime::now(),
        };
        facts.overrides.admin = Some(word);
        facts.reason = "drained by test".into();
    });
    assert_eq!(shown(&snapshot, Some(note)), (Source::Operator, "drained by test".into()));
}

#[test]
fn warnings_name_what_runs_low() {
    let snapshot = fixture::state_snapshot(TEXT, 1);
    let facts = ProcessFacts {
        descriptors: api::types::Descriptors { in_use: 95, limit: 100 },
        port_usage: vec![l7::PortUse {
            source: None,
            destination: "10.0.0.1:80".parse().unwrap(),
            in_use: 28_000,
            resting: 27_000,
            left: 12,
            exhausted: 0,
        }],
        ..ProcessFacts::default()
    };
    let warnings = build_status(&snapshot, &facts, |_| None, SystemTime::now()).warnings;
    assert!(
        warnings.iter().any(|text| text.starts_with("95 of 100 file descriptors")),
        "{warnings:?}"
    );
    assert!(
        warnings.iter().any(|text| text.starts_with("12 source ports are left")),
        "{warnings:?}"
    );
}
