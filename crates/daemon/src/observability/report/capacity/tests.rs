//! What was counted, as a demand, and the shares of limits that follow. No machine is read.

use std::time::{Duration, Instant, SystemTime};

use model::capacity::demand::MachineCapacity;
use model::capacity::ports::TimeWaitPolicy;
use model::capacity::quantity::ByteCount;
use model::capacity::wire::Duplex;

use super::super::fixture;
use super::super::report_sources::ProcessFacts;
use super::super::sample::CounterSample;
use super::*;

const TEXT: &str = r#"
[global]
workers = 1

[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"
limit = { connections = 1000 }

[pool.web]
servers = ["127.0.0.1:1001"]
"#;

fn machine() -> MachineCapacity {
    MachineCapacity {
        processors: 4,
        descriptors: 65_536,
        ports: 28_232,
        time_wait: TimeWaitPolicy::WHOLE,
        link: None,
        duplex: Duplex::Full,
        receive_buffer: ByteCount(6e6),
        send_buffer: ByteCount(4e6),
        cost: None,
    }
}

/// `requests` over ten connections within two seconds.
fn after(requests: u64, spent: Duration) -> Capacity {
    let snapshot = fixture::state_snapshot(TEXT, 1);
    let begin = Instant::now();
    let before = CounterSample::read(&snapshot.snapshot, 0, begin, None);
    let view = snapshot.snapshot.services.values().next().unwrap();
    let counters = &view.stats.slots[0].counters;
    counters.accepted.add(if requests > 0 { 10 } else { 0 });
    counters.requests.add(requests);
    counters.client_in.add(requests * 500);
    counters.client_out.add(requests * 2_000);
    let now =
        CounterSample::read(&snapshot.snapshot, 0, begin + Duration::from_secs(2), Some(&before));
    let facts = ProcessFacts::default();
    let report = crate::observability::report::build_report(
        &snapshot.snapshot,
        &before,
        &now,
        &facts,
        SystemTime::now(),
    );
    forecast_capacity(&snapshot.config, &report, machine(), spent)
}

#[test]
fn what_was_carried_becomes_what_is_forecast() {
    let told = after(20_000, Duration::from_secs(1));
    let shop = &told.services[0];
    assert!(shop.demand.measured);
    assert_eq!((shop.demand.request_bytes, shop.demand.response_bytes), (500.0, 2_000.0));
    assert_eq!(
        (shop.demand.requests_per_connection, shop.demand.requests_per_second),
        (2_000.0, 10_000.0)
    );
    assert_eq!(told.machine.request_us, Some(50.0));
    // One worker, 50 µs a request: 20,000 a second, of which half are used.
    let processors = shop.limits.iter().find(|limit| limit.kind == "processors").unwrap();
    assert_eq!((processors.requests_per_second, processors.used_percent), (20_000.0, 50.0));
    let sorted = shop.limits.is_sorted_by_key(|limit| limit.requests_per_second);
    assert!(sorted, "{:?}", shop.limits);
}

#[test]
fn without_traffic_what_is_usual_stands_there_and_nothing_is_used() {
    let told = after(0, Duration::from_secs(1));
    let shop = &told.services[0];
    assert!(!shop.demand.measured && told.machine.request_us.is_none());
    assert_eq!(shop.demand.response_bytes, 8_192.0);
    assert!(!shop.limits.is_empty());
    assert!(shop.limits.iter().all(|limit| limit.used_percent == 0.0), "{:?}", shop.limits);
}

#[test]
fn few_requests_do_not_show_what_one_costs() {
    assert_eq!(after(100, Duration::from_secs(1)).machine.request_us, None);
}
