//! What is left of clients, by tables and the packet plane. No worker runs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use model::affinity::{self, AffinityTable};
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;

use super::counts::RemainingClients;
use super::{ClientCount, PacketPlaneView};
use crate::observability::report::fixture;
use crate::planes::packets::view::ServerFlowLoad;
use crate::state::StateSnapshot;

const HOUR: Duration = Duration::from_secs(3_600);

const TEXT: &str = r#"
[service.api]
listen = "127.0.0.1:8081"
forward = "http"
pool = "web"
sticky = { by = "header", name = "x-user", expire = "1h", group = "users" }

[service.packets]
listen = "203.0.113.10:80"
forward = "mac"
pool = "web"
sticky = "10m"

[service.plain]
listen = "127.0.0.1:8082"
forward = "tcp"
pool = "other"

[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"
sticky = { by = "address", expire = "1h" }

[pool.other]
servers = [{ name = "a", address = "127.0.0.1:1003" }]

[pool.web]
servers = [{ name = "a", address = "10.0.0.1:80" }, { name = "b", address = "10.0.0.2:80" }]
"#;

fn state_snapshot(text: &str) -> StateSnapshot {
    let mut state_snapshot = fixture::state_snapshot(text, 1);
    let snapshot = Arc::get_mut(&mut state_snapshot.snapshot).unwrap();
    for view in snapshot.services.values_mut() {
        let view = Arc::get_mut(view).unwrap();
        let remembers = view.config.sticky.as_ref().is_some_and(|sticky| sticky.needs_table());
        view.affinity = remembers.then(|| Arc::new(AffinityTable::new(1_000)));
    }
    state_snapshot
}

fn id(snapshot: &StateSnapshot, pool: &str, name: &str) -> ServerId {
    snapshot.server(pool, name).unwrap().id
}

/// Gives this many clients of a service affinity to a server of pool `web`.
fn put(snapshot: &StateSnapshot, service: &str, name: &str, clients: u64) {
    let mut views = snapshot.snapshot.services.values();
    let view = views.find(|view| view.config.name == service).unwrap();
    let share = view.config.sticky.as_ref().and_then(|sticky| sticky.share.as_deref());
    let scope = affinity::scope_key(share, view.id, view.pool);
    for client in 0..clients {
        let key = affinity::scoped_client_key(
            affinity::request_part_key(format!("{name} {client}").as_bytes()),
            scope,
        );
        let held = affinity::scoped_server_key(affinity::server_key(name), scope);
        view.affinity.as_ref().unwrap().assign(key, held, MonotonicTime(0), HOUR);
    }
}

fn left(
    snapshot: &StateSnapshot,
    server: ServerId,
    plane: &PacketPlaneView,
    now: MonotonicTime,
) -> RemainingClients {
    let mut asked = ClientCount::new(snapshot, &BTreeSet::from([server]), plane);
    while asked.step(now) {}
    assert_eq!(asked.remaining.len(), 1);
    asked.remaining[&server]
}

#[test]
fn clients_of_all_services_are_counted_by_server() {
    let snapshot = state_snapshot(TEXT);
    let a = id(&snapshot, "web", "a");
    let b = id(&snapshot, "web", "b");
    put(&snapshot, "shop", "a", 3);
    put(&snapshot, "api", "a", 4);
    put(&snapshot, "shop", "b", 5);
    let load = |flows, kept| ServerFlowLoad { flows, opened: 9, sticky_clients: kept };
    let mut plane = PacketPlaneView::default();
    let uncounted = left(&snapshot, a, &plane, MonotonicTime(0));
    assert_eq!((uncounted.clients, uncounted.uncounted), (7, true), "packets were not counted");
    plane.loads = [(a, load(2, Some(1))), (b, load(0, Some(0)))].into();
    let counted = left(&snapshot, a, &plane, MonotonicTime(0));
    assert_eq!((counted.uncounted, counted.in_flight), (false, 2));
    assert_eq!(counted.clients, 8, "the plane's own among them");
    assert_eq!(left(&snapshot, b, &plane, MonotonicTime(0)).clients, 5);
    let later = left(&snapshot, b, &plane, MonotonicTime(0) + HOUR);
    assert!(later.clients == 0 && later.is_none(), "{later:?}");
    assert!(!left(&snapshot, a, &plane, MonotonicTime(0) + HOUR).is_none(), "connections are open");
    let other = id(&snapshot, "other", "a");
    assert!(
        left(&snapshot, other, &plane, MonotonicTime(0)).is_none(),
        "a namesake has nothing of it"
    );
}

#[test]
fn who_carries_a_cookie_of_ours_is_not_counted() {
    let text = TEXT.replace("by = \"address\", expire = \"1h\"", "by = \"cookie\", name = \"S\"");
    let snapshot = state_snapshot(&text);
    let a = id(&snapshot, "web", "a");
    let load = ServerFlowLoad { sticky_clients: Some(0), ..ServerFlowLoad::default() };
    let plane = PacketPlaneView { loads: [(a, load)].into(), ..PacketPlaneView::default() };
    let found = left(&snapshot, a, &plane, MonotonicTime(0));
    assert_eq!((found.clients, found.uncounted, found.is_none()), (0, true, false));
}
