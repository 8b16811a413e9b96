//! What a scrape shows of synthetic counters, its size, and what becomes of objects that go.

use std::sync::Arc;
use std::time::Duration;

use model::cause::Cause;
use model::circuit_breaker::BreakerResource;
use model::renamed_metrics::RENAMED_METRICS;
use model::snapshot::WorkerSnapshot;
use model::stats::pool::PoolCounters;
use model::stats::{Count, ServerCounters, ServiceCounters};

use super::check::{ExpositionSample, check};
use crate::observability::metrics::{ScrapeInput, encode_metrics, pool, server, service};
use crate::observability::report::fixture;
use crate::observability::report::report_sources::ProcessFacts;

const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"

[pool.web]
servers = [ { name = "a", address = "127.0.0.1:1001" }, { name = "b", address = "127.0.0.1:1002" } ]
"#;

/// Unix milliseconds of every scrape.
const NOW: u64 = 1_772_283_909_000;

/// Every counter of a server that a scrape shows.
fn server_fields() -> impl Iterator<Item = fn(&ServerCounters) -> &Count> {
    let labelled = [server::CLASSES, server::BYTES, server::MENDED];
    let plain = server::PLAIN.iter().map(|row| row.counter);
    plain.chain(labelled.into_iter().flatten().map(|row| row.counter))
}

pub(super) fn scrape(snapshot: &Arc<WorkerSnapshot>, facts: ProcessFacts) -> Vec<ExpositionSample> {
    let text =
        encode_metrics(ScrapeInput { snapshot: Arc::clone(snapshot), facts, now: NOW }).unwrap();
    check(&text).unwrap_or_else(|why| panic!("{why}"))
}

pub(super) fn value(
    samples: &[ExpositionSample],
    name: &str,
    labels: &[(&str, &str)],
) -> Option<f64> {
    let fits = |sample: &&ExpositionSample| {
        sample.name == name
            && labels.iter().all(|(key, value)| sample.labels.get(*key).is_some_and(|v| v == value))
    };
    samples.iter().find(fits).map(|sample| sample.value)
}

#[test]
fn counters_of_all_workers_are_summed_at_the_moment_of_asking() {
    let state_snapshot = fixture::state_snapshot(TEXT, 2);
    let snapshot = &state_snapshot.snapshot;
    let shop = snapshot.services.values().next().unwrap();
    shop.stats.slots[0].counters.requests.add(3);
    shop.stats.slots[1].counters.requests.add(1);
    shop.stats.slots[1].counters.client_out.add(4096);
    shop.stats.slots[0].causes[Cause::NoServer as usize].add(2);
    shop.stats.slots[0].defects[0].add(7);
    shop.stats.slots[1].phases.total.record(Duration::from_micros(100));
    shop.stats.slots[0].phases.total.record(Duration::from_secs(60));
    shop.stats.open_connections.increment();
    let facts = ProcessFacts { workers: 2, ..ProcessFacts::default() };
    let samples = scrape(snapshot, facts.clone());
    let own = [("service", "shop")];
    assert_eq!(value(&samples, "steelyard_service_requests_total", &own), Some(4.0));
    assert_eq!(value(&samples, "steelyard_service_connections_open", &own), Some(1.0));
    assert_eq!(value(&samples, "steelyard_service_worker_skew_ratio", &own), Some(1.5));
    assert_eq!(
        value(&samples, "steelyard_service_client_bytes_total", &[("direction", "out")]),
        Some(4096.0)
    );
    let cause = [("cause", "no-server"), ("side", "balancer")];
    assert_eq!(value(&samples, "steelyard_service_causes_total", &cause), Some(2.0));
    assert_eq!(
        value(&samples, "steelyard_service_causes_total", &[("cause", "internal")]),
        Some(0.0)
    );
    let defect = [("defect", wire::http1::Defect::ALL[0].name())];
    assert_eq!(value(&samples, "steelyard_service_defects_total", &defect), Some(7.0));
    let bucket = |le| {
        value(
            &samples,
            "steelyard_exchange_phase_seconds_bucket",
            &[("phase", "total"), ("le", le)],
        )
    };
    assert_eq!(
        (bucket("0.000064"), bucket("0.000128"), bucket("+Inf")),
        (Some(0.0), Some(1.0), Some(2.0))
    );
    assert_eq!(value(&samples, "steelyard_workers", &[]), Some(2.0));

    shop.stats.slots[0].counters.requests.add(1);
    assert_eq!(
        value(&scrape(snapshot, facts), "steelyard_service_requests_total", &own),
        Some(5.0)
    );
}

#[test]
fn breakers_with_a_limit_are_shown_open_until_they_were_calm() {
    let limited = TEXT.replace("[pool.web]", "[pool.web]\ncircuit-breaker = { requests = 3 }");
    let snapshot = fixture::state_snapshot(&limited, 1);
    let live = snapshot.snapshot.pools.values().next().unwrap().stats.clone();
    let requests = [("pool", "web"), ("bound", "requests")];
    let shown = |name: &str| {
        let samples = scrape(&snapshot.snapshot, ProcessFacts::default());
        value(&samples, &format!("steelyard_pool_{name}"), &requests)
    };
    let permit = live.breakers.try_acquire(BreakerResource::Requests, Some(3));
    assert_eq!((shown("breaker_open"), shown("breaker_limit")), (Some(0.0), Some(3.0)));
    live.record_refusal(BreakerResource::Requests, 0, NOW - 999);
    assert_eq!((shown("breaker_open"), shown("breaker_in_use")), (Some(1.0), Some(1.0)));
    assert_eq!(shown("breaker_refused_total"), Some(1.0));
    drop(permit);
    assert_eq!(shown("breaker_in_use"), Some(0.0));
    let waiting = live.breakers.try_acquire(BreakerResource::Pending, None);
    live.record_shed(0, NOW);
    let samples = scrape(&snapshot.snapshot, ProcessFacts::default());
    let pool = [("pool", "web")];
    assert_eq!(value(&samples, "steelyard_pool_waiting", &pool), Some(1.0));
    assert_eq!(value(&samples, "steelyard_pool_shedding", &pool), Some(1.0));
    assert_eq!(value(&samples, "steelyard_pool_breaker_open", &[("bound", "retries")]), None);
    drop(waiting);
}

/// Whether a sample is that of a renamed metric under its earlier name.
fn is_former_name(sample: &str) -> bool {
    let metric = sample.strip_suffix("_total").unwrap_or(sample);
    RENAMED_METRICS.iter().any(|renamed| renamed.former_name == metric)
}

#[test]
fn every_counter_of_the_model_is_shown_once() {
    let shown = |touch: &dyn Fn(&WorkerSnapshot), prefix: &str| {
        let state_snapshot = fixture::state_snapshot(TEXT, 1);
        touch(&state_snapshot.snapshot);
        let samples = scrape(&state_snapshot.snapshot, ProcessFacts::default());
        samples
            .iter()
            .filter(|sample| sample.name.starts_with(prefix) && sample.value == 77.0)
            .filter(|sample| !is_former_name(&sample.name))
            .count()
    };
    let rows: usize = service::FAMILIES.iter().map(|family| family.rows.len()).sum();
    // Complete responses 5xx are an origin of errors.
    assert_eq!(rows + 1, ServiceCounters::NAMES.len());
    assert_eq!(server_fields().count() + 1, ServerCounters::NAMES.len());
    let touch = |snapshot: &WorkerSnapshot| {
        let service = snapshot.services.values().next().unwrap();
        service.stats.slots[0].counters.complete_5xx.add(77);
    };
    assert_eq!(shown(&touch, "steelyard_service_errors"), 1);
    let touch = |snapshot: &WorkerSnapshot| {
        let pool = snapshot.pools.values().next().unwrap();
        pool.servers[0].stats.slots[0].counters.complete_5xx.add(77);
    };
    assert_eq!(shown(&touch, "steelyard_server_errors"), 1);
    assert_eq!(pool::FAMILIES.len() + BreakerResource::ALL.len(), PoolCounters::NAMES.len());
    for bound in BreakerResource::ALL {
        let touch = |snapshot: &WorkerSnapshot| {
            let pool = snapshot.pools.values().next().unwrap();
            pool.stats.slots[0].counters.refusals(bound).add(77);
        };
        assert_eq!(shown(&touch, "steelyard_pool_breaker_refused"), 1, "{bound:?}");
    }
    for row in pool::FAMILIES {
        let touch = |snapshot: &WorkerSnapshot| {
            (row.counter)(&snapshot.pools.values().next().unwrap().stats.slots[0].counters).add(77)
        };
        assert_eq!(shown(&touch, "steelyard_pool_"), 1, "{}", row.name);
    }
    for row in service::FAMILIES.iter().flat_map(|family| family.rows) {
        let touch = |snapshot: &WorkerSnapshot| {
            (row.counter)(&snapshot.services.values().next().unwrap().stats.slots[0].counters)
                .add(77)
        };
        assert_eq!(shown(&touch, "steelyard_service_"), 1, "{}", row.value);
    }
    for field in server_fields() {
        let touch = |snapshot: &WorkerSnapshot| {
            let pool = snapshot.pools.values().next().unwrap();
            field(&pool.servers[0].stats.slots[0].counters).add(77);
        };
        assert_eq!(shown(&touch, "steelyard_server_"), 1);
    }
}

#[test]
fn what_is_removed_disappears_and_what_stays_goes_on() {
    let snapshot = fixture::state_snapshot(TEXT, 1);
    let pool = snapshot.snapshot.pools.values().next().unwrap();
    pool.servers.iter().for_each(|view| view.stats.slots[0].counters.requests.add(9));
    let mut less = WorkerSnapshot::clone(&snapshot.snapshot);
    let servers = pool.servers[..1].to_vec();
    let kept = model::snapshot::PoolView {
        id: pool.id,
        config: Arc::clone(&pool.config),
        tls: None,
        stats: Arc::clone(&pool.stats),
        servers,
    };
    less.pools.insert(pool.id, Arc::new(kept));
    let samples = scrape(&Arc::new(less), ProcessFacts::default());
    let requests = |name| {
        value(&samples, "steelyard_server_requests_total", &[("pool", "web"), ("server", name)])
    };
    assert_eq!((requests("a"), requests("b")), (Some(9.0), None));
    assert_eq!(
        value(&samples, "steelyard_server_state", &[("server", "a"), ("state", "up")]),
        Some(1.0)
    );
    assert_eq!(
        value(&samples, "steelyard_server_state", &[("server", "a"), ("state", "down")]),
        Some(0.0)
    );
}

#[test]
fn a_thousand_busy_servers_fit_six_mebibytes() {
    let servers: String = (0..1_000u32)
        .map(|n| {
            format!(
                "{{ name = \"server-{n:04}\", address = \"10.0.{}.{}:8080\" }},\n",
                n / 250,
                n % 250 + 1
            )
        })
        .collect();
    let (head, _) = TEXT.split_once("servers = [").unwrap();
    let snapshot = fixture::state_snapshot(&format!("{head}servers = [\n{servers}]\n"), 1);
    let pool = snapshot.snapshot.pools.values().next().unwrap();
    for view in &pool.servers {
        let slot = &view.stats.slots[0];
        for phase in slot.phases.all() {
            phase.record(Duration::from_micros(123_456));
        }
        for field in server_fields() {
            field(&slot.counters).add(1_234_567_890);
        }
        slot.causes[0].add(1);
        slot.causes[1].add(1);
    }
    let ports = (0..1_000u32)
        .map(|n| l7::PortUse {
            source: None,
            destination: (std::net::Ipv4Addr::from(0x0a00_0000 + n), 8080).into(),
            in_use: 1,
            resting: 0,
            left: 28_000,
            exhausted: 0,
        })
        .collect();
    let facts = ProcessFacts { port_usage: ports, ..ProcessFacts::default() };
    let text =
        encode_metrics(ScrapeInput { snapshot: Arc::clone(&snapshot.snapshot), facts, now: NOW })
            .unwrap();
    // 5 MiB, and 1 MiB for the families of servers that a scrape has under their earlier names as well.
    assert!(text.len() <= 6 << 20, "{} bytes", text.len());
    assert!(text.matches("steelyard_server_state{").count() == 5_000);
}

// Rows: I40
#[test]
fn packets_are_shown_by_outcome_and_only_what_happened() {
    use crate::planes::packets::view::{
        PacketPlaneView, PlaneCounterSample as Counted, PlaneInterfaceView, ServerFlows,
        ServiceFlows,
    };
    use l4::abi::Outcome;
    use l4::counts::{PacketCounts, PlaneCounters};

    let snapshot = fixture::state_snapshot(TEXT, 1);
    let none = scrape(&snapshot.snapshot, ProcessFacts::default());
    assert!(
        none.iter().all(|sample| !sample.name.contains("steelyard_packet")),
        "no service forwards them"
    );

    let of = |v4, v6| PacketCounts { v4, v6, other: 0 };
    let mut counts = PlaneCounters { received: 21, evicted: 1, ..PlaneCounters::default() };
    let mut server = l4::counts::ServerCounts { flows: 9, bytes_in: 640, ..Default::default() };
    server.outcomes.insert(Outcome::Forwarded, of(10, 2));
    counts.servers.insert(4, server);
    counts.services.insert(0, [(Outcome::Denied, of(0, 3))].into());
    counts.cleared.insert(0, [(l4::abi::TcpField::WindowScale, 6)].into());
    counts.plane.insert(Outcome::NotOurs, PacketCounts { v4: 1, v6: 0, other: 4 });
    let mine = ServerFlows { pool: "web".into(), name: "a".into(), index: 4, flows: 5 };
    let flows = ServiceFlows {
        flows: 5,
        half_open: 2,
        alarm: true,
        servers: vec![mine],
        indexes: [4].into(),
        ..ServiceFlows::default()
    };
    let view = PacketPlaneView {
        is_wanted: true,
        interfaces: vec![PlaneInterfaceView {
            name: "eth0".into(),
            mode: Some("native"),
            last_error: None,
        }],
        flows: [("shop".to_owned(), flows)].into(),
        services: [("shop".to_owned(), 0)].into(),
        current: Some(Counted { at: std::time::Instant::now(), counts }),
        ..PacketPlaneView::default()
    };
    let facts = ProcessFacts { packets: Arc::new(view), ..ProcessFacts::default() };
    let samples = scrape(&snapshot.snapshot, facts);
    let server = [("service", "shop"), ("pool", "web"), ("server", "a"), ("outcome", "forwarded")];
    let v6 = [&server[..], &[("ip", "6")]].concat();
    assert_eq!(value(&samples, "steelyard_server_packets_total", &v6), Some(2.0));
    let denied = [("service", "shop"), ("outcome", "denied"), ("ip", "6")];
    assert_eq!(value(&samples, "steelyard_service_packets_total", &denied), Some(3.0));
    let scale = [("service", "shop"), ("field", "window-scale")];
    assert_eq!(value(&samples, "steelyard_service_packet_removals_total", &scale), Some(6.0));
    let all = samples.iter().filter(|sample| sample.name == "steelyard_packets_total");
    assert_eq!(all.map(|sample| sample.value).sum::<f64>(), 20.0);
    for (name, expected) in [
        ("steelyard_packets_received_total", 21.0),
        ("steelyard_packets_unaccounted", 1.0),
        ("steelyard_packet_flows_evicted_total", 1.0),
        ("steelyard_service_packet_flows_half_open", 2.0),
        ("steelyard_service_half_open_alarm", 1.0),
        ("steelyard_server_packet_traffic_bytes_total", 640.0),
        ("steelyard_packet_interface_attached", 1.0),
    ] {
        assert_eq!(value(&samples, name, &[]), Some(expected), "{name}");
    }
}
