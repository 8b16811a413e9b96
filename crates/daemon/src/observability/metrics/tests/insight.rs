//! What a scrape shows of watched connections, and what becomes of it when their service goes; and what is explained.

use std::net::IpAddr;
use std::sync::Arc;

use api::types::SlowQuery;
use model::flow_samples::{FlowDelta, FlowSideCounters, HandshakeDurations, HandshakeStall};
use model::monotonic_time::MonotonicTime;
use model::snapshot::WorkerSnapshot;

use super::scrape::{scrape, value};
use crate::observability::report::fixture;
use crate::observability::report::flow_samples::FlowSampleQuery;
use crate::observability::report::report_sources::ProcessFacts;
use crate::observability::slow_exchanges::SlowExchangeStore;
use crate::planes::flow_samples::FlowSampleCollector;
use crate::planes::packets::view::{FlowSampleView, PacketPlaneView};
use crate::state::StateSnapshot;

const TEXT: &str = r#"
[packets]
nat-source = ["10.0.0.4"]
[service.shop]
listen = "203.0.113.10:80"
forward = "nat"
pool = "web"
[service.mail]
listen = "203.0.113.11:25"
forward = "mac"
pool = "post"
[pool.web]
servers = [ { name = "a", address = "10.0.0.11:80" } ]
[pool.post]
servers = [ { name = "a", address = "10.0.0.12:25" } ]
"#;

const MS: u64 = 1_000_000;

fn change(service: u32, server: u32, print: u64) -> FlowDelta {
    let told = FlowSideCounters {
        packets: 10,
        retransmitted: 2,
        filled: 1,
        zero_window: 3,
        resets: 1,
        zero_window_nanos: 500 * MS,
        loss_recovery_nanos: 250 * MS,
        ..FlowSideCounters::default()
    };
    FlowDelta {
        fingerprint: print,
        first_packet_at: 1,
        at: 60_000 * MS,
        client: IpAddr::from([192, 0, 2, 7]),
        port: 4_000,
        service,
        server: Some(server),
        bidirectional: true,
        joined_late: false,
        begun: true,
        scaled: true,
        handshake: Some(HandshakeDurations {
            server: Some(20 * MS),
            client: Some(30 * MS),
            total: Some(50 * MS),
        }),
        stall: None,
        refused: false,
        sides: [told, FlowSideCounters { packets: 12, ..FlowSideCounters::default() }],
    }
}

/// One connection of each service, the second without a beginning that was done.
fn seen(snapshot: &StateSnapshot) -> FlowSampleCollector {
    let id = |name: &str| {
        let mut services = snapshot.snapshot.services.values();
        services.find(|view| view.config.name == name).unwrap().id.0
    };
    let server = |pool: &str| {
        let mut pools = snapshot.snapshot.pools.values();
        pools.find(|view| view.config.name == pool).unwrap().servers[0].id.0
    };
    let insight = FlowSampleCollector::default();
    let silent = FlowDelta {
        handshake: None,
        stall: Some(HandshakeStall::Either),
        bidirectional: false,
        scaled: false,
        ..change(id("mail"), server("post"), 3)
    };
    insight.record_changes(vec![change(id("shop"), server("web"), 2), silent], &snapshot.snapshot);
    insight
}

/// The plane that watches them.
fn plane() -> PacketPlaneView {
    let shown = FlowSampleView { sample: Some(64), watched: 2, ..FlowSampleView::default() };
    PacketPlaneView { is_wanted: true, flow_samples: shown, ..PacketPlaneView::default() }
}

#[test]
fn watched_connections_are_counted_by_service() {
    let snapshot = fixture::state_snapshot(TEXT, 1);
    let insight = seen(&snapshot);
    let view = plane();
    let facts = ProcessFacts {
        flow_samples: insight.totals(),
        packets: Arc::new(view),
        ..ProcessFacts::default()
    };
    let samples = scrape(&snapshot.snapshot, facts);
    let shop = ("service", "shop");
    for (name, labels, expected) in [
        ("one_in", vec![], Some(64.0)),
        ("watched", vec![], Some(2.0)),
        ("missed_total", vec![("reason", "full")], Some(0.0)),
        ("connections_total", vec![shop], Some(1.0)),
        (
            "handshakes_unfinished_total",
            vec![("service", "mail"), ("silent", "unknown")],
            Some(1.0),
        ),
        ("handshakes_unfinished_total", vec![shop], None),
        ("handshake_seconds_count", vec![shop, ("part", "server")], Some(1.0)),
        ("handshake_seconds_sum", vec![shop, ("part", "whole")], Some(0.05)),
        ("repairs_total", vec![shop, ("from", "client"), ("how", "lost-behind")], Some(2.0)),
        ("repairs_total", vec![shop, ("from", "server")], None),
        ("small_windows_total", vec![shop, ("from", "client"), ("window", "zero")], Some(3.0)),
        ("resets_total", vec![shop, ("from", "client")], Some(1.0)),
        (
            "stalled_seconds_total",
            vec![shop, ("owner", "client"), ("limit", "ZERO_WINDOW")],
            Some(0.5),
        ),
        (
            "stalled_seconds_total",
            vec![shop, ("owner", "network"), ("limit", "CONNECT")],
            Some(0.05),
        ),
    ] {
        let name = format!("steelyard_flow_samples_{name}");
        assert_eq!(value(&samples, &name, &labels), expected, "{name} {labels:?}");
    }
    insight.record_changes(Vec::new(), &WorkerSnapshot::default());
    assert!(insight.totals().services.is_empty(), "services that are gone are forgotten");
}

#[test]
fn watched_connections_are_explained_by_service() {
    let snapshot = fixture::state_snapshot(TEXT, 1);
    let insight = seen(&snapshot);
    let view = plane();
    let watching = FlowSampleQuery { samples: &insight, view: &view, now: 60_000 * MS };
    let ask = |query: &SlowQuery| {
        crate::observability::report::slow::explain_slow(
            &snapshot,
            &SlowExchangeStore::default(),
            &watching,
            query,
            MonotonicTime(1),
            90_000,
        )
        .unwrap()
        .packets
    };
    let all = ask(&SlowQuery::default());
    assert_eq!(all.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["mail", "shop"]);
    let mail = &all[0];
    let shop = &all[1];
    assert_eq!((shop.sample, shop.watched, shop.seconds), (Some(64), 1, 0.8));
    assert_eq!(shop.reasons[0].limit, "ZERO_WINDOW");
    assert_eq!(shop.servers[0].name, "web/a");
    assert_eq!((shop.pools[0].name.as_str(), shop.pools[0].exchanges), ("web", 1.0));
    assert_eq!(shop.networks[0].name, "192.0.2.0/24");
    assert_eq!(shop.examples[0].client, "192.0.2.7:4000");
    assert_eq!(shop.handshakes.client_part.unwrap().median_ms, 30.0);
    assert!(shop.server.is_some() && shop.both_directions && shop.limitations.len() == 1);
    assert!(mail.server.is_none() && mail.limitations.len() > 1 && mail.handshakes.unfinished == 1);
    assert_eq!(mail.examples[0].notes, ["unfinished", "reset-by-client", "scale-unknown"]);
    let of = |query: SlowQuery| ask(&query).len();
    assert_eq!(of(SlowQuery { service: Some("shop".into()), ..SlowQuery::default() }), 1);
    assert_eq!(of(SlowQuery { server: Some("web/a".into()), ..SlowQuery::default() }), 1);
    assert_eq!(of(SlowQuery { from: Some("198.51.100.0/24".into()), ..SlowQuery::default() }), 0);
}
