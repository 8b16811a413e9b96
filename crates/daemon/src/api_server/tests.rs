//! The routes over a real socket, with `api`'s client, and control commands that the test answers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::config::AccessLogTarget;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};

use super::{ApiContext, control_socket};
use crate::health::health_check::{ProberParts, new_prober};
use crate::observability::access_log::AccessLogger;
use crate::observability::report::error_window::ErrorWindow;
use crate::observability::report::fixture;
use crate::observability::report::report_sources::ReportSources;
use crate::observability::report::sample::SampleHistory;
use crate::state::handle::{ControlChannels, ControlCommand};
use crate::state::{ApplyError, ApplyOutcome, StateSnapshot};
use crate::util::scratch_dir::Scratch;

const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"

[pool.web]
servers = [ { name = "a", address = "127.0.0.1:1001" }, { name = "b", address = "127.0.0.1:1002" } ]
"#;

struct TestApi {
    path: PathBuf,
    orders: mpsc::Receiver<ControlCommand>,
    _publish: watch::Sender<Arc<StateSnapshot>>,
    stopped: Arc<Mutex<Vec<super::StopRequest>>>,
    end: Option<oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
    _scratch: Scratch,
}

async fn daemon() -> TestApi {
    let scratch = Scratch::new("serve").unwrap();
    let path = scratch.path().join("control.sock");
    let ControlChannels { handle: control, commands: orders, snapshots: publish } =
        fixture::control(fixture::state_snapshot(TEXT, 2));
    let ProberParts { prober, observer: _observer } = new_prober().unwrap();
    let access = Arc::new(AccessLogger::start(&AccessLogTarget::Off, Box::new(drop)).unwrap());
    let captures =
        crate::observability::capture::CaptureController::new(None, control.events().clone());
    let vitals = ReportSources {
        packets: tokio::sync::watch::channel(Default::default()).1,
        vrrp: tokio::sync::watch::channel(Default::default()).1,
        links: tokio::sync::watch::channel(Default::default()).1,
        uplinks: tokio::sync::watch::channel(Default::default()).1,
        mptcp: tokio::sync::watch::channel(Default::default()).1,
        names: Arc::default(),
        control,
        report_time_wait: Box::new(|_| {}),
        read_port_usage: Box::new(Vec::new),
        read_open_counts: Box::new(l7::OpenCounts::default),
        access,
        probes: prober.counts,
        evidence: prober.evidence,
        balancing_decisions: Default::default(),
        slow_exchanges: Default::default(),
        refused: Default::default(),
        flow_samples: Arc::default(),
        slo: Default::default(),
        certificate_orders: Default::default(),
        draining_clients: Default::default(),
        captures,
        telemetry: Arc::default(),
        headroom: Arc::default(),
        samples: SampleHistory::default(),
        errors: ErrorWindow::default(),
        api_counters: Arc::default(),
        admin: Arc::new(crate::util::admin_listeners::admin_sockets::AdminSockets::new([])),
        predecessor: Arc::default(),
        activity: crate::util::activity::ActivityMonitor::new(),
    };
    let stopped = Arc::<Mutex<Vec<_>>>::default();
    let stops = stopped.clone();
    let stop: super::StopCallback = Box::new(move |ask| stops.lock().unwrap().push(ask));
    let annals = Arc::new(crate::observability::history::HistoryRecorder::new(None));
    let vitals = Arc::new(vitals);
    let live = Arc::new(super::live_feed::LiveFeed::new(Arc::clone(&vitals)));
    tokio::spawn(Arc::clone(&live).run());
    let context = Arc::new(ApiContext {
        report_sources: vitals,
        live,
        history: annals,
        vrrp: crate::planes::vrrp::command::command_channel().0,
        lease_server: super::lease_server::LeaseServer::new(None),
        idempotency: Arc::default(),
        config_file: None,
        stop,
    });
    let bound =
        control_socket::bind(&path, 0o600, control_socket::ReplacePolicy::StaleOnly).unwrap();
    let (end, until) = oneshot::channel::<()>();
    let served = tokio::spawn(super::run(bound, context, async move { drop(until.await) }));
    TestApi { path, orders, _publish: publish, stopped, end: Some(end), served, _scratch: scratch }
}

/// Sends one request on a new connection; returns status, content type and body.
async fn ask(path: PathBuf, method: &str, target: &str, body: &str) -> (u16, String, String) {
    let mut stream = UnixStream::connect(path).await.unwrap();
    let kind = if body.starts_with('{') { "application/json" } else { "application/toml" };
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let kind =
        head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or_default();
    (head[9..12].parse().unwrap(), kind.to_owned(), body.to_owned())
}

#[tokio::test]
async fn looking_needs_no_order() {
    let daemon = daemon().await;
    let (code, kind, body) = ask(daemon.path.clone(), "GET", "/v1/status", "").await;
    assert_eq!((code, kind.as_str()), (200, "application/json"));
    let status: api::types::Status = serde_json::from_str(&body).unwrap();
    assert_eq!((status.services[0].name.as_str(), status.pools[0].servers.len()), ("shop", 2));
    let (code, _, body) = ask(daemon.path.clone(), "GET", "/v1/report?interval-ms=1", "").await;
    assert_eq!(code, 200);
    let report: api::types::Report = serde_json::from_str(&body).unwrap();
    assert!(report.interval_ms >= 1 && report.process.descriptors.in_use > 0);
    assert_eq!(ask(daemon.path.clone(), "GET", "/v1/report", "").await.0, 200);
    let (code, kind, body) = ask(daemon.path.clone(), "GET", "/v1/metrics", "").await;
    assert!(
        code == 200 && kind.starts_with("application/openmetrics-text") && body.contains("# EOF")
    );
    let (code, _, body) = ask(daemon.path.clone(), "GET", "/v1/config", "").await;
    assert!(code == 200 && body.contains("least-request"), "{body}");
    assert_eq!(ask(daemon.path.clone(), "GET", "/v1/events", "").await.0, 200);
}

#[tokio::test]
async fn an_order_carries_who_gave_it_and_its_answer_comes_back() {
    let mut daemon = daemon().await;
    let path = daemon.path.clone();
    let response =
        tokio::spawn(ask(path, "POST", "/v1/apply?if-generation=1&file=%2Fetc%2Fx.toml", TEXT));
    let Some(ControlCommand::Apply(change, back)) = daemon.orders.recv().await else {
        panic!("an order")
    };
    assert_eq!(
        (change.text.as_str(), change.file.as_str(), change.expect),
        (TEXT, "/etc/x.toml", Some(1))
    );
    let uid = rustix::process::getuid().as_raw();
    let who = &change.origin.who;
    let process = format!(", process {} (", std::process::id());
    assert!(who.starts_with(&format!("uid {uid}")) && who.contains(&process), "{who}");
    let mut diff = model::config::ConfigDiff::default();
    diff.services.added.push("blog".into());
    let done = ApplyOutcome {
        repeats: None,
        generation: 2,
        diff,
        warnings: Vec::new(),
        needs_restart: Vec::new(),
        confirmed: true,
        created: false,
        saved: None,
        unsaved: vec!["the disk is full".into()],
    };
    back.send(Ok(done)).unwrap();
    let (code, _, body) = response.await.unwrap();
    let applied: api::types::Applied = serde_json::from_str(&body).unwrap();
    assert_eq!((code, applied.generation, applied.changed), (200, 2, true));
    assert_eq!(applied.effects, ["service blog added"]);
    assert_eq!(applied.unsaved, ["the disk is full"]);
}

#[tokio::test]
async fn refusals_are_problems_with_their_status() {
    let mut daemon = daemon().await;
    let path = daemon.path.clone();
    let response = tokio::spawn(ask(path, "POST", "/v1/apply", "nonsense"));
    let Some(ControlCommand::Apply(_, back)) = daemon.orders.recv().await else {
        panic!("an order")
    };
    back.send(Err(ApplyError::Invalid(model::config::load("nonsense", "f").unwrap_err()))).unwrap();
    let (code, kind, body) = response.await.unwrap();
    assert_eq!((code, kind.as_str()), (422, "application/problem+json"));
    let problem: api::types::Problem = serde_json::from_str(&body).unwrap();
    assert!(!problem.findings.is_empty() && problem.status == 422, "{problem:?}");

    let response = tokio::spawn(ask(daemon.path.clone(), "POST", "/v1/apply", TEXT));
    let Some(ControlCommand::Apply(_, back)) = daemon.orders.recv().await else {
        panic!("an order")
    };
    back.send(Err(ApplyError::Stale { expected: 1, found: 4 })).unwrap();
    assert_eq!(response.await.unwrap().0, 409);

    for (method, target, body, status) in [
        ("GET", "/v1/nothing", "", 404),
        ("GET", "/v1/apply", "", 405),
        ("POST", "/v1/apply?if-generation=x", "", 400),
        ("GET", "/v1/report?interval-ms=9999999", "", 400),
        ("POST", "/v1/servers/web/a", "{\"action\":\"fly\"}", 422),
        ("POST", "/v1/servers/web/a", "{\"action\":\"weight\",\"weight\":300}", 400),
    ] {
        let (code, kind, body) = ask(daemon.path.clone(), method, target, body).await;
        assert_eq!(
            (code, kind.as_str()),
            (status, "application/problem+json"),
            "{method} {target}: {body}"
        );
    }
    let large = "#".repeat(api::routes::CONFIG_BYTES_MAX + 1);
    assert_eq!(ask(daemon.path.clone(), "POST", "/v1/plan", &large).await.0, 413);
    drop(daemon.orders);
    assert_eq!(ask(daemon.path.clone(), "GET", "/v1/generations", "").await.0, 503);
}

#[tokio::test]
async fn a_star_selects_every_server_of_the_pool() {
    let mut daemon = daemon().await;
    let response = tokio::spawn(ask(
        daemon.path.clone(),
        "POST",
        "/v1/servers/web/*",
        "{\"action\":\"drain\"}",
    ));
    let snapshot = fixture::state_snapshot(TEXT, 2);
    for expected in ["a", "b"] {
        let Some(ControlCommand::ServerCommand(order, back)) = daemon.orders.recv().await else {
            panic!("an order")
        };
        assert_eq!((order.pool.as_str(), order.name.as_str()), ("web", expected));
        assert!(order.command == crate::state::OperatorCommand::Drain && order.save.is_none());
        assert!(order.origin.who.starts_with("uid "));
        let facts = snapshot.server("web", expected).unwrap().clone();
        let done = crate::state::ServerCommandOutcome {
            facts,
            saved: None,
            audit_id: 1,
            unsaved: Vec::new(),
        };
        back.send(Ok(done)).unwrap();
    }
    let (code, _, body) = response.await.unwrap();
    let changed: api::types::ServerChanged = serde_json::from_str(&body).unwrap();
    assert_eq!((code, changed.servers.len()), (200, 2));
}

#[tokio::test]
async fn stop_is_passed_on_and_the_file_goes_with_the_server() {
    let mut daemon = daemon().await;
    let (code, _, body) = ask(daemon.path.clone(), "POST", "/v1/stop?limit-ms=1500", "").await;
    let stopping: api::types::Stopping = serde_json::from_str(&body).unwrap();
    assert_eq!((code, stopping.limit_ms), (200, 1500));
    assert_eq!(
        *daemon.stopped.lock().unwrap(),
        [super::StopRequest { limit: Some(Duration::from_millis(1500)), detach: false }]
    );
    drop(daemon.end.take());
    daemon.served.await.unwrap().unwrap();
    assert!(!daemon.path.exists());
}

#[tokio::test]
async fn a_name_is_held_by_one_and_given_back() {
    let daemon = daemon().await;
    let ask = |name: &str, body: &str| {
        let path = daemon.path.clone();
        let name = format!("/v1/leases/{name}");
        let body = body.to_owned();
        async move { ask(path, "PUT", &name, &body).await }
    };
    let order = |holder: &str, ms: u32| {
        format!("{{\"holder\": \"{holder}\", \"ticket\": 7, \"lease-ms\": {ms}}}")
    };
    let (code, _, body) = ask("a", &order("left", 3_000)).await;
    assert_eq!((code, body.as_str()), (200, "{\"lease-ms\":3000}"));
    let (code, kind, body) = ask("a", &order("right", 3_000)).await;
    assert_eq!((code, kind.as_str()), (409, "application/problem+json"));
    assert!(body.contains("left holds it for"), "{body}");
    assert_eq!(ask("a", &order("left", 0)).await.0, 200);
    assert_eq!(ask("a", &order("right", 3_000)).await.0, 200);
    for (name, body) in
        [("a", order("left", 31_000)), ("a", order("", 3_000)), ("a%20b", order("left", 3_000))]
    {
        assert_eq!(ask(name, &body).await.0, 400, "{name} {body}");
    }
}
